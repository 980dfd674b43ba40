// SPDX-License-Identifier: GPL-2.0-or-later
/* Several who ask at once. */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "levels.h"
#include "pcidevfs/util.h"
#include "test.h"

DEFINE_TEST(a_request_that_is_sent_again_is_one_op)
{
	struct bench b = { 0 };
	struct verdict v, again;

	world_reset();
	bench_start(&b);
	pthread_mutex_lock(&kernel.gate);
	submit(&b, 0, "5", &v);
	while (kernel.started < 1)
		usleep(100);
	submit(&b, 0, "5", &again);
	pthread_mutex_unlock(&kernel.gate);
	await(&v);
	await(&again);
	CHECK_EQ(v.err.code, 0);
	CHECK_EQ(again.err.code, 0);
	CHECK_EQ(kernel.started, 4);
	bench_stop(&b);
}

static int looks;

static void count_look(struct model *m)
{
	looks++;
}

/* While the devices are busy a request is refused without a look, which takes time; also one for
 * what still holds, or for the very value that is on its way. */
DEFINE_TEST(what_is_busy_is_refused_before_the_look)
{
	struct bench b = { 0 };
	struct verdict v, other;

	world_reset();
	bench_start(&b);
	pthread_mutex_lock(&kernel.gate);
	submit(&b, 0, "5", &v);
	while (kernel.started < 1)
		usleep(100);
	looks = 0;
	before_look = count_look;
	CHECK_EQ(set(&b, 0, "6", &other), EBUSY);
	CHECK_IN(other.err.text, "is busy: level 5 is running; wait for it and write again");
	CHECK(other.err.passing);
	other = (struct verdict){ 0 };
	txn_submit(b.e, &(struct request){ .dev = dev_key(0), .file = "level", .value = "5" }, 1,
		   &(struct actor){ .tag = 8 }, told, &other);
	await(&other);
	CHECK_EQ(other.err.code, EBUSY);
	CHECK_EQ(set(&b, 1, "6", &other), EBUSY);
	/* A group's members hold 1 until the first step has ended. */
	CHECK_EQ(set(&b, 1, "1", &other), EBUSY);
	CHECK_EQ(looks, 0);
	CHECK_EQ(set(&b, 1, "13", &other), EINVAL);
	CHECK_EQ(looks, 1);
	before_look = NULL;
	pthread_mutex_unlock(&kernel.gate);
	await(&v);
	CHECK_EQ(v.err.code, 0);
	CHECK_EQ(set(&b, 1, "6", &other), 0);
	bench_stop(&b);
}

static struct bench turns;
static pthread_mutex_t hold = PTHREAD_MUTEX_INITIALIZER;
static bool was_told;

static void held(void *ctx)
{
	pthread_mutex_lock(&hold);
	pthread_mutex_unlock(&hold);
}

static void ask(void *verdict)
{
	txn_submit(turns.e, &(struct request){ .dev = dev_key(0), .file = "level", .value = "5" }, 1,
		   &(struct actor){ .tag = 7 }, told, verdict);
}

static void behind(void *verdict)
{
	was_told = ((struct verdict *)verdict)->told;
}

/* It has waited for that turn among all others already. */
DEFINE_TEST(an_op_goes_on_in_the_turn_of_its_writer)
{
	const struct actor user = { .opener.uid = 7 };
	struct verdict v = { 0 };

	world_reset();
	bench_start(&turns);
	pthread_mutex_lock(&hold);
	CHECK_EQ(engine_defer(turns.e, &user, held, NULL), 0); /* so that one thread is left */
	CHECK_EQ(engine_defer(turns.e, &user, ask, &v), 0);
	CHECK_EQ(engine_defer(turns.e, &user, behind, &v), 0);
	await(&v);
	pthread_mutex_unlock(&hold);
	bench_stop(&turns);
	CHECK_EQ(v.err.code, 0);
	CHECK(was_told);
}
