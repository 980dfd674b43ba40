// SPDX-License-Identifier: GPL-2.0-or-later
/* Turns of the plugin's loop that other threads take. */
#include "client/loop.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "pcidevfs/util.h"
#include "test.h"

struct busy {
	struct loop loop;
	struct source far, soon;
	int heard, after;
};

static void end_loop(struct source *s)
{
	container_of(s, struct busy, soon)->loop.ended = true;
}

static void too_late(struct source *s)
{
	CHECK(!"the loop slept on");
}

static void count_after(void *ctx)
{
	((struct busy *)ctx)->after++;
}

static void begin(struct busy *b)
{
	CHECK_EQ(loop_open(&b->loop, NULL), 0);
	b->loop.after = count_after;
	b->loop.after_ctx = b;
	b->far = (struct source){ .fd = -1, .due = too_late, .at = now_ms() + 100000 };
	b->soon = (struct source){ .fd = -1, .due = end_loop, .at = UINT64_MAX };
	CHECK_EQ(loop_add(&b->loop, &b->far, NULL), 0);
	CHECK_EQ(loop_add(&b->loop, &b->soon, NULL), 0);
}

static void end(struct busy *b, pthread_t other)
{
	loop_run(&b->loop);
	loop_leave(&b->loop);
	CHECK(!pthread_join(other, NULL));
	loop_close(&b->loop);
}

static void *set_time(void *arg)
{
	struct busy *b = arg;

	usleep(20000);
	loop_enter(&b->loop);
	b->soon.at = now_ms() + 1;
	loop_leave(&b->loop);
	return NULL;
}

DEFINE_TEST(loop_hears_of_a_time_that_another_thread_sets)
{
	struct busy b = { 0 };
	pthread_t other;

	begin(&b);
	CHECK(!pthread_create(&other, NULL, set_time, &b));
	end(&b, other);
	CHECK(b.after > 0);
}

struct brief {
	struct source source;
	struct busy *b;
};

static void on_brief(struct source *s)
{
	struct brief *brief = container_of(s, struct brief, source);

	brief->b->heard++;
	CHECK(brief->source.fd >= 0);
}

/* Each is readable as long as it is there, which may be over when the loop has its turn. */
static void *come_and_go(void *arg)
{
	struct busy *b = arg;

	for (int i = 0; i < 2000; i++) {
		struct brief *brief = malloc(sizeof(*brief));

		CHECK(brief != NULL);
		*brief = (struct brief){ { .fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK),
					   .ready = on_brief,
					   .at = UINT64_MAX },
					 b };
		loop_enter(&b->loop);
		CHECK_EQ(loop_add(&b->loop, &brief->source, NULL), 0);
		loop_leave(&b->loop);
		loop_enter(&b->loop);
		loop_remove(&b->loop, &brief->source);
		loop_leave(&b->loop);
		close(brief->source.fd);
		memset(brief, 0xff, sizeof(*brief));
		free(brief);
	}
	return set_time(b);
}

DEFINE_TEST(loop_forgets_at_once_what_another_thread_removes)
{
	struct busy b = { 0 };
	pthread_t other;

	begin(&b);
	CHECK(!pthread_create(&other, NULL, come_and_go, &b));
	end(&b, other);
}
