// SPDX-License-Identifier: GPL-2.0-or-later
/* Steps for different cards run beside each other; what fails or is interrupted there is undone as
 * if they had run one after the other. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "levels.h"
#include "model/engine/operation.h"
#include "pcidevfs/util.h"
#include "test.h"

static void submit_lanes(struct bench *b, struct verdict *v)
{
	struct request w[DEVICES] = { 0 };

	for (int i = 0; i < DEVICES; i++) {
		w[i].dev = dev_key(i);
		w[i].line = (uint16_t)(i + 1);
		STR_COPY(w[i].file, "lane");
		STR_COPY(w[i].value, "5");
	}
	*v = (struct verdict){ 0 };
	txn_submit(b->e, w, DEVICES, &(struct actor){ .tag = 7 }, told, v);
}

static void check_levels(struct bench *b, int level)
{
	for (int i = 0; i < DEVICES; i++) {
		CHECK_EQ(kernel.level[i], level);
		CHECK_STR(look(b, i).busy, "");
		CHECK_STR(look(b, i).stuck, "");
	}
}

DEFINE_TEST(steps_of_different_cards_run_beside_each_other)
{
	struct bench b = { 0 };
	struct verdict v;

	world_reset();
	bench_start(&b);
	pthread_mutex_lock(&kernel.gate);
	submit_lanes(&b, &v);
	for (int i = 0; i < 5000 && kernel.started < DEVICES; i++)
		usleep(1000);
	CHECK_EQ(kernel.started, DEVICES);
	pthread_mutex_unlock(&kernel.gate);
	await(&v);
	CHECK_EQ(v.err.code, 0);
	check_levels(&b, 5);
	bench_stop(&b);
}

DEFINE_TEST(a_step_that_fails_undoes_those_beside_it)
{
	for (int at = 0; at < DEVICES; at++) {
		struct bench b = { 0 };
		struct verdict v;

		world_reset();
		bench_start(&b);
		kernel.fail_at = at;
		submit_lanes(&b, &v);
		await(&v);
		CHECK_EQ(v.err.code, EIO);
		CHECK_EQ(v.err.line, at + 1);
		check_levels(&b, 1);
		bench_stop(&b);
	}
}

/* Each step has begun before the first one ends. */
static void submit_held(struct bench *b, struct verdict *v)
{
	pthread_mutex_lock(&kernel.gate);
	submit_lanes(b, v);
	for (int i = 0; i < 5000 && kernel.started < DEVICES; i++)
		usleep(1000);
	pthread_mutex_unlock(&kernel.gate);
	await(v);
}

/* Whoever asks is told of the first one of his lines that failed, not of the fastest. */
DEFINE_TEST(of_several_failed_steps_the_first_decides)
{
	struct bench b = { 0 };
	struct verdict v;

	world_reset();
	bench_start(&b);
	kernel.fail_at = EVERYWHERE;
	kernel.last_first = true;
	submit_held(&b, &v);
	CHECK_EQ(v.err.line, 1);
	CHECK_IN(v.err.text, "level of 0000:00:00.0");
	check_levels(&b, 1);
	bench_stop(&b);
}

DEFINE_TEST(several_late_steps_are_all_undone)
{
	struct bench b = { 0 };
	struct verdict v;

	world_reset();
	bench_start(&b);
	kernel.fail_at = EVERYWHERE;
	kernel.fail_code = ETIMEDOUT;
	kernel.late_waits = true;
	submit_held(&b, &v);
	CHECK_EQ(v.err.code, ETIMEDOUT);
	CHECK_IN(look(&b, 3).stuck, "it is undone once that ends");
	kernel.late_waits = false;
	for (int i = 0; i < 5000 && look(&b, 3).stuck[0]; i++)
		usleep(1000);
	for (int i = 0; i < 5000 && look(&b, 3).busy[0]; i++)
		usleep(1000);
	check_levels(&b, 1);
	bench_stop(&b);
}

/* Killed when the steps of devices 0 and 2 were done, that of 1 had not begun, and 3 was at work. */
static void die_in_lanes(struct bench *b)
{
	struct op_log *log;
	struct verdict v;
	pid_t pid;

	world_reset();
	bench_start(b);
	bench_stop(b);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		bench_start(b);
		die_at = 0;
		submit_lanes(b, &v);
		await(&v);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	log = (struct op_log *)((struct logs_head *)b->journal + 1);
	CHECK_EQ(atomic_load(&log->state), LOG_RUNS);
	CHECK_EQ(atomic_load(&log->n_steps), DEVICES);
	for (int i = 0; i < DEVICES; i++) {
		struct step *s = &log->steps[i];

		s->begun = s->recorded = i != 1;
		s->done = i == 0 || i == 2;
		STR_COPY(s->former, i == 1 ? "" : "1");
		kernel.level[i] = i == 1 ? 1 : 5;
	}
}

DEFINE_TEST(interrupted_lanes_are_completed_by_the_next_process)
{
	struct bench b = { 0 };

	die_in_lanes(&b);
	bench_start(&b);
	bench_recover(&b, true);
	for (int i = 0; i < 5000 && !engine_idle(b.e); i++)
		usleep(1000);
	check_levels(&b, 5);
	bench_stop(&b);
}

DEFINE_TEST(interrupted_lanes_are_undone_by_the_next_process)
{
	struct bench b = { 0 };

	die_in_lanes(&b);
	kernel.fail_at = 1;
	bench_start(&b);
	bench_recover(&b, true);
	for (int i = 0; i < 5000 && !engine_idle(b.e); i++)
		usleep(1000);
	check_levels(&b, 1);
	bench_stop(&b);
}
