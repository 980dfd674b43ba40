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

static void check_busy(struct bench *b, const char *text)
{
	for (int i = 0; i < DEVICES; i++)
		CHECK_STR(look(b, i).busy, text);
}

static void die(struct model *m)
{
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

/* Of the bench's 8 threads: those of what has a reserve, as a resumed operation has, and the
 * others. */
enum { RESERVE_THREADS = 6, OTHER_THREADS = 2 };

static void block(void *ctx)
{
	pthread_mutex_lock(&queue);
	pthread_mutex_unlock(&queue);
}

static void block_all(struct bench *b, bool reserve)
{
	struct actor who = { .opener.reserve = reserve };

	pthread_mutex_lock(&queue);
	for (int i = 0; i < (reserve ? RESERVE_THREADS : OTHER_THREADS); i++)
		CHECK_EQ(engine_defer(b->e, &who, block, NULL), 0);
}

/* Behind so many others that their logs would fill the journal. */
static void queue_and_die(struct bench *b)
{
	struct verdict v[40];

	bench_start(b);
	block_all(b, false);
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
	bench_recover(&b, true);
	for (int i = 0; i < 5000 && !engine_idle(b.e); i++)
		usleep(1000);
	for (int i = 0; i < DEVICES; i++)
		CHECK_EQ(kernel.level[i], 5);
	bench_stop(&b);
}

/* ... while it waits for a thread: nobody takes them, nor takes the operation for ended. */
DEFINE_TEST(devices_of_an_op_are_busy_until_it_is_taken_up_again)
{
	struct bench b = { 0 };

	die_in_an_op(&b);
	bench_start(&b);
	check_busy(&b, "level 5");
	block_all(&b, true);
	bench_recover(&b, true);
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
		bench_recover(&b, again);
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
	bench_recover(&b, false);
	for (int i = 0; i < 5000 && !engine_idle(b.e); i++)
		usleep(1000);
	for (int i = 0; i < DEVICES; i++)
		CHECK_EQ(kernel.level[i], 5);
	bench_stop(&b);
}

/* The holder has died too: a new model, on another connection. */
static void all_die(struct bench *b)
{
	b->arena = NULL;
	b->connection++;
	bench_start(b);
	CHECK(!b->found);
	bench_recover(b, false);
	for (int i = 0; i < 5000 && !engine_idle(b->e); i++)
		usleep(1000);
}

static void check_kernel(int level)
{
	for (int i = 0; i < DEVICES; i++)
		CHECK_EQ(kernel.level[i], level);
}

DEFINE_TEST(what_nobody_is_left_to_know_of_is_undone)
{
	struct bench b = { 0 };
	struct verdict v;

	die_in_an_op(&b);
	all_die(&b);
	check_kernel(1);
	CHECK_EQ(kernel.told, 1);
	check_busy(&b, "");
	CHECK_STR(look(&b, 0).stuck, "");
	/* No new request is taken for the former one. */
	CHECK_EQ(set(&b, 0, "5", &v), 0);
	check_kernel(5);
	bench_stop(&b);
	all_die(&b); /* it was kept */
	check_kernel(5);
	bench_stop(&b);
}

DEFINE_TEST(what_cannot_be_undone_is_tried_again_by_each_daemon)
{
	for (int written = 0; written < 2; written++) {
		struct bench b = { 0 };
		struct verdict v;

		die_in_an_op(&b);
		kernel.undo_fails_at = 1;
		for (int i = 0; i < 2; i++) {
			all_die(&b);
			CHECK_EQ(kernel.level[1], 5);
			CHECK_EQ(kernel.level[0], 1);
			CHECK_IN(look(&b, 1).stuck,
				 "could not be undone: the kernel says no again");
			bench_stop(&b);
		}
		kernel.undo_fails_at = -1;
		bench_start(&b); /* the next process of the same daemon leaves it so */
		CHECK(b.found);
		bench_recover(&b, false);
		CHECK(engine_idle(b.e));
		CHECK_EQ(look(&b, 1).state, STATE_STUCK);
		CHECK_EQ(written ? set(&b, 1, "7", &v) : 0, 0);
		bench_stop(&b);
		all_die(&b);
		check_kernel(written ? 7 : 1);
		CHECK_STR(look(&b, 1).stuck, "");
		bench_stop(&b);
	}
}

static void other_card(struct bench *b)
{
	for (uint32_t i = 0; i < first_log(b)->n_snapshots; i++)
		if (first_log(b)->snapshots[i].dev.name[11] == '0')
			first_log(b)->snapshots[i].ids ^= 1;
}

DEFINE_TEST(nothing_is_undone_on_another_card_in_the_place)
{
	struct bench b = { 0 };

	die_in_an_op(&b);
	other_card(&b);
	all_die(&b);
	CHECK_EQ(kernel.level[0], 5);
	CHECK_EQ(kernel.level[1], 1);
	bench_stop(&b);
}

DEFINE_TEST(logs_of_another_boot_or_state_directory_are_begun_anew)
{
	for (int way = 0; way < 3; way++) {
		struct bench b = { 0 };
		struct journal_conf conf = { .size = 64 << 20, .of = way ? "" : "another" };
		struct logs l = { 0 };

		die_in_an_op(&b);
		conf.at = b.journal;
		conf.distrust = way == 2;
		logs_open(&l, &conf); /* the others may have died of it */
		CHECK_EQ(logs_used(&l), way ? 1 : 0);
		CHECK(!way || log_readable(l.slots) == (way == 1));
		CHECK(way < 2 || l.slots->n_devices == DEVICES);
	}
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
		bench_recover(&b, true);
		submit(&b, 0, "5", &v); /* sent again */
		await(&v);
		CHECK_EQ(v.err.code, fails ? EIO : 0);
		CHECK_EQ(kernel.level[0], fails ? 1 : 5);
		CHECK_EQ(kernel.level[1], 5);
		CHECK_EQ(kernel.level[2], fails ? 1 : 5);
		CHECK_STR(look(&b, 0).stuck, "");
		if (fails) {
			CHECK_IN(v.err.text,
				 "another version of this program did this step (older)");
			CHECK_IN(look(&b, 1).reason, "cannot undo it; check 0000:00:00.1");
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
		bench_recover(&b, true);
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
	struct op_log *log = logs_new(&request, 1, &(struct actor){ 0 });
	struct op_log *slot = logs_keep(l, log, NULL);

	if (!slot)
		free(log);
	return slot;
}

DEFINE_TEST(ops_that_never_ran_take_no_memory)
{
	int fd = memfd_create("acts", MFD_CLOEXEC);
	size_t size = 8 * sizeof(struct op_log);
	struct logs l = { 0 }, next = { 0 };
	struct journal_conf conf = { .size = size, .fd = fd };
	struct op_log *log;
	struct stat st;

	CHECK_EQ(ftruncate(fd, (off_t)size), 0);
	conf.at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	logs_open(&l, &conf);
	CHECK_EQ(logs_used(&l), 0);
	log = kept(&l);
	CHECK_EQ(log - l.slots, 0);
	CHECK_EQ(fstat(fd, &st), 0);
	CHECK(st.st_blocks <= 48); /* of 512 bytes, as they are touched */
	/* Seen by the next process; one that is free serves again. */
	logs_open(&next, &conf);
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

static void set_one(struct bench *b, const char *file, int dev, const char *value)
{
	struct request w = { .dev = dev_key(dev) };
	struct verdict v = { 0 };

	STR_COPY(w.file, file);
	STR_COPY(w.value, value);
	txn_submit(b->e, &w, 1, &(struct actor){ .tag = 9 }, told, &v);
	await(&v);
}

/* What could not be undone of device 1 does not end with a write to another one. */
DEFINE_TEST(op_that_is_stuck_stays_so_for_who_was_not_written)
{
	const struct key other = dev_key(0), own = dev_key(1);
	struct bench b = { 0 };

	die_in_an_op(&b);
	kernel.undo_fails_at = 1;
	all_die(&b);
	CHECK_EQ(atomic_load(&first_log(&b)->state), LOG_STUCK);
	kernel.undo_fails_at = -1;
	logs_settled(&b.e->logs, &other);
	CHECK_EQ(atomic_load(&first_log(&b)->state), LOG_STUCK);
	logs_settled(&b.e->logs, &own);
	CHECK_EQ(atomic_load(&first_log(&b)->state), LOG_ENDED);
	bench_stop(&b);
}

/* One of its devices is written again, and all die in that: the newer operation is undone alone. */
DEFINE_TEST(op_that_is_stuck_waits_while_a_newer_one_is_undone)
{
	struct bench b = { 0 };
	pid_t pid;

	die_in_an_op(&b);
	kernel.undo_fails_at = 1;
	all_die(&b);
	bench_stop(&b);
	kernel.undo_fails_at = -1;
	pid = fork();
	if (!pid) {
		bench_start(&b);
		bench_recover(&b, false);
		die_at = 2;
		set_one(&b, "level", 0, "7");
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	CHECK_EQ(first_log(&b)[1].state, LOG_RUNS);
	all_die(&b);
	CHECK_EQ(first_log(&b)->state, LOG_STUCK);
	CHECK_EQ(first_log(&b)[1].state, LOG_FREE);
	CHECK_IN(look(&b, 1).stuck, "may be half done");
	bench_stop(&b);
}
