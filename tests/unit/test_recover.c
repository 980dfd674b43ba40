// SPDX-License-Identifier: GPL-2.0-or-later
/* How operations are stored for the next process, and what it says of those that it cannot
 * resume. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model/engine/operation.h"
#include "levels.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "test.h"

static struct op_log *first_log(const struct bench *b)
{
	return (struct op_log *)((struct logs_head *)b->journal + 1);
}

/* A process that is killed in an operation. */
static void begin_and_die(struct bench *b, int at, void (*looks)(struct model *m))
{
	struct verdict v;
	pid_t pid;

	world_reset();
	bench_start(b);
	bench_stop(b);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		bench_start(b);
		die_at = at;
		before_look = looks;
		submit(b, 0, "5", &v);
		await(&v);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	CHECK_EQ(atomic_load(&first_log(b)->state), LOG_RUNS);
}

/* ... in front of the step of device 2. */
static void die_in_an_op(struct bench *b)
{
	begin_and_die(b, 2, NULL);
	CHECK_EQ(kernel.level[1], 5);
}

static void die(struct model *m)
{
	(void)m;
	kill(getpid(), SIGKILL);
}

static void check_health(struct bench *b, const char *part)
{
	struct out o = { 0 };

	engine_health(b->e, &o);
	if (part)
		CHECK_IN(out_text(&o), part);
	else
		CHECK_STR(out_text(&o), "");
	out_free(&o);
}

static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;

static void block(struct engine *e, void *ctx)
{
	(void)e;
	(void)ctx;
	pthread_mutex_lock(&queue);
	pthread_mutex_unlock(&queue);
}

/* Behind so many others that their logs would fill the journal. */
static void queue_and_die(struct bench *b)
{
	struct verdict v[40];

	bench_start(b);
	pthread_mutex_lock(&queue);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(engine_defer(b->e, &(struct actor){ .opener.reserve = true }, block, NULL),
			 0);
	for (int i = 0; i < 39; i++) {
		struct request w = { .dev = dev_key(0) };

		snprintf(w.file, sizeof(w.file), "no%d", i);
		txn_submit(b->e, &w, 1, &(struct actor){ 0 }, told, &v[i]);
	}
	die_at = 2;
	submit(b, 0, "5", &v[39]);
	pthread_mutex_unlock(&queue);
	await(&v[39]);
	_exit(0);
}

DEFINE_TEST(an_op_that_had_to_queue_is_taken_up_again)
{
	struct bench b = { 0 };
	pid_t pid;

	world_reset();
	bench_start(&b);
	bench_stop(&b);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		queue_and_die(&b);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	CHECK_EQ(kernel.level[1], 5);
	bench_start(&b);
	engine_recover(b.e, true);
	for (int i = 0; i < 5000 && !engine_idle(b.e); i++)
		usleep(1000);
	for (int i = 0; i < DEVICES; i++)
		CHECK_EQ(kernel.level[i], 5);
	bench_stop(&b);
}

static void check_busy(struct bench *b, const char *text)
{
	for (int i = 0; i < DEVICES; i++)
		CHECK_STR(look(b, i).busy, text);
}

/* ... while it waits for a thread: nobody takes them, nor takes the operation for ended. */
DEFINE_TEST(devices_of_an_op_are_busy_until_it_is_taken_up_again)
{
	struct bench b = { 0 };

	die_in_an_op(&b);
	bench_start(&b);
	check_busy(&b, "level 5");
	pthread_mutex_lock(&queue);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(engine_defer(b.e, &(struct actor){ .opener.reserve = true }, block, NULL),
			 0);
	engine_recover(b.e, true);
	check_busy(&b, "level 5");
	pthread_mutex_unlock(&queue);
	for (int i = 0; i < 5000 && !engine_idle(b.e); i++)
		usleep(1000);
	check_busy(&b, "");
	bench_stop(&b);
}

/* Its writer looked at the device after the EIO and found it unchanged; it must stay so. */
DEFINE_TEST(what_had_not_begun_is_dropped_where_nobody_asks_again)
{
	for (int again = 0; again < 2; again++) {
		struct bench b = { 0 };

		begin_and_die(&b, -1, die);
		bench_start(&b);
		engine_recover(b.e, again);
		for (int i = 0; i < 5000 && !engine_idle(b.e); i++)
			usleep(1000);
		for (int i = 0; i < DEVICES; i++)
			CHECK_EQ(kernel.level[i], again ? 5 : 1);
		check_health(&b, NULL);
		bench_stop(&b);
	}
}

DEFINE_TEST(what_had_begun_is_finished_although_nobody_asks_again)
{
	struct bench b = { 0 };

	die_in_an_op(&b);
	bench_start(&b);
	engine_recover(b.e, false);
	for (int i = 0; i < 5000 && !engine_idle(b.e); i++)
		usleep(1000);
	for (int i = 0; i < DEVICES; i++)
		CHECK_EQ(kernel.level[i], 5);
	bench_stop(&b);
}

/* As after an upgrade to a version that has no such step. */
DEFINE_TEST(a_step_that_nobody_knows_any_more_is_told_when_it_stays)
{
	for (int fails = 0; fails < 2; fails++) {
		struct bench b = { 0 };
		struct verdict v;

		die_in_an_op(&b);
		STR_COPY(first_log(&b)->steps[1].verb_name, "older");
		kernel.fail_at = fails ? 3 : -1;
		bench_start(&b);
		engine_recover(b.e, true);
		submit(&b, 0, "5", &v); /* sent again */
		await(&v);
		CHECK_EQ(v.err.code, fails ? EIO : 0);
		CHECK_EQ(kernel.level[0], fails ? 1 : 5);
		CHECK_EQ(kernel.level[1], 5);
		CHECK_EQ(kernel.level[2], fails ? 1 : 5);
		CHECK_STR(look(&b, 0).stuck, "");
		if (fails) {
			CHECK_IN(v.err.text, "another version of this program did this step (older)");
			CHECK_IN(look(&b, 1).reason,
				 "cannot undo it; check 0000:00:00.1");
		} else {
			CHECK_STR(look(&b, 1).stuck, "");
		}
		check_health(&b, NULL);
		bench_stop(&b);
	}
}

DEFINE_TEST(an_op_that_cannot_be_read_is_told)
{
	for (int way = 0; way < 4; way++) {
		struct bench b = { 0 };
		struct op_log *log;
		struct verdict v;

		die_in_an_op(&b);
		log = first_log(&b);
		if (way == 0)
			log->n_requests = 0;
		else if (way == 1)
			log->n_requests = LOG_REQUESTS + 1;
		else if (way == 2)
			atomic_store(&log->n_steps, PLAN_STEPS + 1);
		else
			atomic_store(&log->state, 77);
		bench_start(&b);
		engine_recover(b.e, true);
		CHECK(engine_idle(b.e));
		check_health(
			&b,
			"acts=lost count=1 hint=\"an operation of 0000:00:00.0 was interrupted by "
			"a restart");
		CHECK_EQ(kernel.told, 1);
		for (int i = 0; i < DEVICES; i++) {
			CHECK_STR(look(&b, i).busy, "");
			CHECK_EQ(look(&b, i).state, STATE_STUCK);
			CHECK_IN(look(&b, i).reason, "cannot be resumed");
		}
		CHECK_EQ(set(&b, 0, "6", &v), 0); /* a write on a stuck device tries again */
		for (int i = 0; i < DEVICES; i++)
			CHECK_STR(look(&b, i).stuck, "");
		bench_stop(&b);
	}
}

static struct op_log *kept(struct logs *l)
{
	const struct request request = { .file = "claim" };
	struct op_log *log = logs_new(&request, 1, &(struct actor){ 0 }), *slot = logs_keep(l, log);

	if (!slot)
		free(log);
	return slot;
}

DEFINE_TEST(ops_that_never_ran_take_no_memory)
{
	int fd = memfd_create("acts", MFD_CLOEXEC);
	size_t size = 8 * sizeof(struct op_log);
	struct logs l = { 0 }, next = { 0 };
	struct op_log *log;
	struct stat st;
	void *at;

	CHECK_EQ(ftruncate(fd, (off_t)size), 0);
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	logs_open(&l, at, size);
	CHECK_EQ(logs_used(&l), 0);
	log = kept(&l);
	CHECK_EQ(log - l.slots, 0);
	CHECK_EQ(fstat(fd, &st), 0);
	CHECK(st.st_blocks <= 48); /* of 512 bytes, as they are touched */
	/* Seen by the next process; one that is free serves again. */
	logs_open(&next, at, size);
	CHECK_EQ(logs_used(&next), 1);
	logs_give(&l, log, false);
	CHECK_EQ(kept(&l) - l.slots, 0);
	for (size_t i = 1; i < l.n; i++)
		CHECK_EQ(kept(&l) - l.slots, i);
	CHECK_EQ(logs_used(&l), l.n);
	/* All of them run. */
	CHECK(!kept(&l));
	logs_give(&l, &l.slots[3], false);
	CHECK_EQ(kept(&l) - l.slots, 3);
}
