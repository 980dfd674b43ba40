// SPDX-License-Identifier: GPL-2.0-or-later
/* Transactions over a world of counters (levels.h). */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "levels.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "test.h"

DEFINE_TEST(a_request_is_carried_out_read_back_and_noted)
{
	struct bench b = { 0 };
	struct verdict v;

	world_reset();
	bench_start(&b);
	CHECK_EQ(set(&b, 2, "5", &v), 0);
	for (int i = 0; i < DEVICES; i++)
		CHECK_EQ(kernel.level[i], 5);
	CHECK_STR(look(&b, 2).intent.claim, "5");
	CHECK_EQ(look(&b, 2).state, STATE_UNHEALTHY); /* claimed but not on vfio-pci, here */
	CHECK_STR(look(&b, 1).busy, "");
	CHECK_EQ(kernel.started, 4);
	CHECK_EQ(set(&b, 2, "5", &v), 0); /* holds already */
	CHECK_EQ(kernel.started, 4);
	bench_stop(&b);
}

/* What a step does to one device may be what makes another one the host's last of its kind. */
DEFINE_TEST(the_guards_are_asked_anew_once_another_device_was_changed)
{
	struct bench b = { 0 };
	struct verdict v;

	world_reset();
	bench_start(&b);
	CHECK_EQ(set(&b, 0, "5", &v), 0);
	CHECK_EQ(kernel.started, DEVICES);
	CHECK(kernel.guarded >= DEVICES - 1);
	bench_stop(&b);
}

DEFINE_TEST(refusals_touch_nothing)
{
	struct bench b = { 0 };
	struct request w = { .dev = dev_key(0), .file = "nosuch" };
	struct verdict v, unknown = { 0 };

	world_reset();
	bench_start(&b);
	CHECK_EQ(set(&b, 0, "13", &v), EINVAL);
	CHECK_EQ(set(&b, 7, "2", &v), ENODEV);
	txn_submit(b.e, &w, 1, &(struct actor){ 0 }, told, &unknown);
	await(&unknown);
	CHECK_EQ(unknown.err.code, EOPNOTSUPP);
	CHECK_EQ(kernel.started, 0);
	CHECK_STR(look(&b, 0).busy, "");
	bench_stop(&b);
}

/* Break each step in turn: the others are taken back, and the next try works. */
DEFINE_TEST(each_step_broken_in_turn_is_undone)
{
	struct bench b = { 0 };
	struct verdict v;

	world_reset();
	bench_start(&b);
	for (int broken = 0; broken < DEVICES; broken++) {
		kernel.fail_at = broken;
		CHECK_EQ(set(&b, 1, "5", &v), EIO);
		CHECK_IN(v.err.text, "the kernel says no");
		for (int i = 0; i < DEVICES; i++) {
			CHECK_EQ(kernel.level[i], 1);
			CHECK_STR(look(&b, i).busy, "");
			CHECK_STR(look(&b, i).stuck, "");
		}
		kernel.fail_at = -1;
		CHECK_EQ(set(&b, 1, "5", &v), 0);
		CHECK_EQ(set(&b, 1, "1", &v), 0);
	}
	bench_stop(&b);
}

DEFINE_TEST(a_result_that_is_not_what_was_asked_is_undone)
{
	struct bench b = { 0 };
	struct verdict v;

	world_reset();
	bench_start(&b);
	kernel.wrong_result = true;
	CHECK_EQ(set(&b, 1, "5", &v), EIO);
	CHECK_IN(v.err.text, "read back 99");
	for (int i = 0; i < DEVICES; i++)
		CHECK_EQ(kernel.level[i], 1);
	bench_stop(&b);
}

DEFINE_TEST(what_cannot_be_undone_is_stuck_with_the_reason)
{
	struct bench b = { 0 };
	struct verdict v;

	world_reset();
	bench_start(&b);
	kernel.fail_at = 2;
	kernel.undo_fails_at = 1;
	CHECK_EQ(set(&b, 0, "5", &v), EIO);
	CHECK_IN(v.err.text, "could not be undone");
	CHECK_EQ(kernel.level[0], 1);
	CHECK_EQ(kernel.level[1], 5);
	CHECK_EQ(look(&b, 1).state, STATE_STUCK);
	CHECK_IN(look(&b, 1).reason,
		 "level 0000:00:00.1 could not be undone: the kernel says no again");
	kernel.fail_at = kernel.undo_fails_at = -1;
	CHECK_EQ(set(&b, 0, "6", &v), 0); /* a write on a stuck device tries again */
	CHECK_STR(look(&b, 1).stuck, "");
	bench_stop(&b);
}

DEFINE_TEST(a_late_step_is_stuck_until_it_ends_and_then_undone)
{
	struct bench b = { 0 };
	struct verdict v, other;

	world_reset();
	bench_start(&b);
	kernel.fail_at = 2;
	kernel.fail_code = ETIMEDOUT;
	pthread_mutex_lock(&kernel.gate);
	submit(&b, 0, "5", &v);
	while (kernel.started < 1)
		usleep(100);
	CHECK_EQ(set(&b, 3, "7", &other), EBUSY); /* the group is busy meanwhile */
	CHECK_IN(other.err.text, "level 5 is running");
	pthread_mutex_unlock(&kernel.gate);
	await(&v);
	CHECK_EQ(v.err.code, ETIMEDOUT);
	for (int i = 0; i < 5000 && (look(&b, 0).stuck[0] || look(&b, 0).busy[0]); i++)
		usleep(1000);
	for (int i = 0; i < DEVICES; i++) {
		CHECK_EQ(kernel.level[i], 1);
		CHECK_STR(look(&b, i).stuck, "");
		CHECK_STR(look(&b, i).busy, "");
	}
	bench_stop(&b);
}

/* Nobody undoes it then, so that is said. */
DEFINE_TEST(the_end_does_not_wait_for_what_is_late)
{
	struct bench b = { 0 };
	struct out left = { 0 };
	struct verdict v;

	world_reset();
	bench_start(&b);
	kernel.fail_at = 2;
	kernel.fail_code = ETIMEDOUT;
	kernel.late_waits = true;
	CHECK_EQ(set(&b, 0, "5", &v), ETIMEDOUT);
	CHECK(engine_idle(b.e));
	/* Its thread has yet to begin to wait, or does. */
	CHECK(!engine_end(b.e, &left));
	CHECK_STR(
		out_text(&left),
		"level of 0000:00:00.2 still hangs in the kernel; it is left so, and the steps "
		"before it are not undone\n");
	out_free(&left);
}

static void await_calm(struct bench *b, int dev)
{
	for (int i = 0; i < 5000 && look(b, dev).busy[0]; i++)
		usleep(1000);
	CHECK_STR(look(b, dev).busy, "");
}

/* The undo of step 1 hangs: step 0 stays done until it ends, then the rest is undone as well. */
DEFINE_TEST(a_late_undo_goes_on_once_it_ends)
{
	for (int fails = 0; fails < 2; fails++) {
		struct bench b = { 0 };
		struct verdict v, other;

		world_reset();
		bench_start(&b);
		kernel.fail_at = 2;
		kernel.undo_late_at = 1;
		kernel.late_waits = true;
		kernel.undo_fails_at = fails ? 0 : -1;
		CHECK_EQ(set(&b, 0, "5", &v), EIO);
		CHECK_IN(v.err.text,
			 "the kernel says no; and level 0000:00:00.1 could not be undone");
		CHECK_EQ(kernel.level[0], 5);
		CHECK_EQ(look(&b, 1).state, STATE_STUCK);
		CHECK_IN(look(&b, 1).reason,
			 "the undo of 0000:00:00.1 did not end; it is undone once that ends");
		CHECK_EQ(set(&b, 0, "6", &other), EBUSY);
		kernel.late_waits = false;
		await_calm(&b, 0);
		CHECK_EQ(kernel.level[1], 1);
		CHECK_EQ(kernel.level[0], fails ? 5 : 1);
		CHECK_STR(look(&b, 1).stuck, "");
		if (fails)
			CHECK_IN(look(&b, 0).stuck,
				 "level 0000:00:00.0 could not be undone: the kernel says no");
		else
			CHECK_STR(look(&b, 0).stuck, "");
		bench_stop(&b);
	}
}

/* Its own process begins the operation and is killed at the n-th step, before or after it. */
static void begin_and_die(struct bench *b, int at, bool after)
{
	pid_t pid = fork();
	struct verdict v;

	CHECK(pid >= 0);
	if (!pid) {
		die_at = at;
		die_after = after;
		bench_start(b);
		submit(b, 0, "5", &v);
		await(&v);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

/* Killed at any step, the next process finishes the operation: each device ends as requested. */
DEFINE_SLOW_TEST(killed_at_any_step_the_next_process_finishes, 300)
{
	for (int at = 0; at < DEVICES; at++)
		for (int after = 0; after < 2; after++) {
			struct bench b = { 0 };
			struct verdict v;

			world_reset();
			bench_start(&b); /* makes arena and journal */
			bench_stop(&b);
			begin_and_die(&b, at, after);
			bench_start(&b);
			bench_recover(&b, true);
			submit(&b, 0, "5", &v); /* sent again */
			await(&v);
			CHECK_EQ(v.err.code, 0);
			for (int i = 0; i < DEVICES; i++) {
				CHECK_EQ(kernel.level[i], 5);
				CHECK_STR(look(&b, i).busy, "");
			}
			CHECK_STR(look(&b, 0).intent.claim, "5");
			bench_stop(&b);
		}
}

/* ... and when it cannot be finished, also the steps of the dead process are taken back, and the
 * request that is sent again gets that verdict and no second try. */
DEFINE_SLOW_TEST(killed_at_any_step_the_next_process_undoes, 300)
{
	for (int at = 1; at < DEVICES; at++) {
		struct bench b = { 0 };
		struct verdict v;
		int started;

		world_reset();
		bench_start(&b);
		bench_stop(&b);
		begin_and_die(&b, at, false);
		CHECK_EQ(kernel.level[0], 5);
		kernel.fail_at = at;
		bench_start(&b);
		bench_recover(&b, true);
		for (int i = 0; i < 5000 && (kernel.level[0] != 1 || look(&b, 0).busy[0]); i++)
			usleep(1000);
		usleep(20000);
		started = kernel.started;
		submit(&b, 0, "5", &v);
		await(&v);
		CHECK_EQ(v.err.code, EIO);
		CHECK_EQ(kernel.started, started);
		for (int i = 0; i < DEVICES; i++)
			CHECK_EQ(kernel.level[i], 1);
		bench_stop(&b);
	}
}

/* Killed after the verdict was told, but before the answer: the operation is over, whatever the
 * kernel says now, and the teller hears that it had begun. */
DEFINE_TEST(killed_after_its_verdict_an_op_is_not_done_again)
{
	for (int refused = 0; refused < 2; refused++) {
		struct bench b = { 0 };
		struct verdict v;
		int started;

		world_reset();
		bench_start(&b);
		bench_stop(&b);
		kernel.fail_at = refused ? 1 : -1;
		die_told = true;
		begin_and_die(&b, -1, false);
		die_told = false;
		CHECK_EQ(kernel.told, 1);
		started = kernel.started;
		kernel.fail_at = refused ? -1 : 1;
		kernel.level[0] = 3; /* somebody else was here meanwhile */
		bench_start(&b);
		bench_recover(&b, true);
		submit(&b, 0, "5", &v); /* sent again */
		await(&v);
		CHECK_EQ(v.err.code, refused ? EIO : 0);
		CHECK_EQ(kernel.started, started);
		CHECK_EQ(kernel.told, 2);
		CHECK(kernel.told_again);
		bench_stop(&b);
	}
}

DEFINE_TEST(what_the_disk_refuses_is_not_done)
{
	struct bench b = { 0 };
	struct verdict v;

	world_reset();
	bench_start(&b);
	disk.fail_begun = 1;
	CHECK_EQ(set(&b, 0, "5", &v), ENOSPC);
	CHECK_EQ(kernel.started, 0);
	disk.fail_begun = 0;
	disk.fail_kept = 1;
	CHECK_EQ(set(&b, 0, "5", &v), ENOSPC);
	for (int i = 0; i < DEVICES; i++)
		CHECK_EQ(kernel.level[i], 1);
	CHECK_STR(look(&b, 0).intent.claim, "");
	disk.fail_kept = 0;
	CHECK_EQ(set(&b, 0, "5", &v), 0);
	CHECK_EQ(disk.kept, 1);
	bench_stop(&b);
}

static int set_both(struct bench *b, const char *level, const char *top, struct verdict *v)
{
	struct request w[2] = { { .dev = dev_key(1), .line = 1, .file = "top" },
			     { .dev = dev_key(0), .line = 2, .file = "level" } };

	STR_COPY(w[0].value, top);
	STR_COPY(w[1].value, level);
	*v = (struct verdict){ 0 };
	txn_submit(b->e, w, 2, &(struct actor){ 0 }, told, v);
	await(v);
	return v->err.code;
}

/* What depends on an earlier request is planned once that was seen to hold. */
DEFINE_TEST(requests_are_planned_in_stages)
{
	struct bench b = { 0 };
	struct verdict v;

	world_reset();
	bench_start(&b);
	CHECK_EQ(set_both(&b, "4", "x", &v), EINVAL);
	CHECK_IN(v.err.text, "level 5 was not seen");
	for (int i = 0; i < DEVICES; i++)
		CHECK_EQ(kernel.level[i], 1); /* the first stage was taken back */
	kernel.started = 0;
	/* What can be known before is told before anything is touched. */
	CHECK_EQ(set_both(&b, "5", "13", &v), EINVAL);
	CHECK_IN(v.err.text, "13 is no top");
	CHECK_EQ(kernel.started, 0);
	CHECK_STR(look(&b, 1).busy, "");
	CHECK_EQ(set_both(&b, "5", "x", &v), 0);
	CHECK_EQ(kernel.started, DEVICES + 1);
	bench_stop(&b);
}

/* By each part that can refuse: the plan; a step, even if its undo fails; the disk refuses the
 * whole. */
DEFINE_TEST(a_verdict_names_the_request_that_was_refused)
{
	struct bench b = { 0 };
	struct verdict v;

	world_reset();
	bench_start(&b);
	CHECK_EQ(set_both(&b, "4", "x", &v), EINVAL);
	CHECK_EQ(v.err.line, 1);
	CHECK_EQ(set_both(&b, "13", "x", &v), EINVAL);
	CHECK_EQ(v.err.line, 2);
	kernel.fail_at = 2;
	kernel.fail_code = EIO;
	CHECK_EQ(set_both(&b, "5", "x", &v), EIO);
	CHECK_EQ(v.err.line, 2);
	kernel.undo_fails_at = 1;
	CHECK_EQ(set_both(&b, "5", "x", &v), EIO);
	CHECK_EQ(v.err.line, 2);
	kernel.fail_at = kernel.undo_fails_at = -1;
	disk.fail_begun = 1;
	CHECK_EQ(set_both(&b, "5", "x", &v), ENOSPC);
	CHECK_EQ(v.err.line, 0);
	bench_stop(&b);
}

static void pulse(struct bench *b, const char *level, const char *top, struct verdict *v)
{
	struct request w[3] = { { .dev = dev_key(0), .file = "pulse", .value = "1" },
			     { .dev = dev_key(0), .file = "level" },
			     { .dev = dev_key(1), .file = "top" } };

	STR_COPY(w[1].value, level);
	STR_COPY(w[2].value, top);
	*v = (struct verdict){ 0 };
	txn_submit(b->e, w, level[0] ? 3 : 1, &(struct actor){ .tag = 7 }, told, v);
	await(v);
	CHECK_EQ(v->err.code, 0);
}

/* An operation without a state (method.once) is done once per request, in any number of stages, and
 * is not stored. */
DEFINE_TEST(an_op_is_done_once_each_time)
{
	struct bench b = { 0 };
	struct verdict v;

	world_reset();
	bench_start(&b);
	pulse(&b, "", "", &v);
	CHECK_EQ(kernel.pulses, 1);
	CHECK_EQ(disk.begun + disk.kept, 0);
	pulse(&b, "5", "x", &v);
	CHECK_EQ(kernel.pulses, 2);
	CHECK_EQ(kernel.level[0], 5);
	CHECK(disk.kept);
	bench_stop(&b);
}

/* Killed after the operation was noted: the next process does not do it again. */
DEFINE_TEST(an_op_that_was_done_is_not_done_again)
{
	for (int after = 0; after < 2; after++) {
		struct bench b = { 0 };
		struct verdict v;
		pid_t pid;

		world_reset();
		bench_start(&b);
		bench_stop(&b);
		pid = fork();
		if (!pid) {
			die_at = 0;
			die_after = after;
			bench_start(&b);
			pulse(&b, "", "", &v);
			_exit(0);
		}
		CHECK_EQ(waitpid(pid, NULL, 0), pid);
		CHECK_EQ(kernel.pulses, 1);
		bench_start(&b);
		bench_recover(&b, true);
		pulse(&b, "", "", &v); /* sent again */
		CHECK_EQ(kernel.pulses, after ? 1 : 2);
		bench_stop(&b);
	}
}

DEFINE_TEST(check_prints_and_does_nothing)
{
	struct bench b = { 0 };
	struct request w = { .dev = dev_key(0), .file = "level", .value = "5" };
	struct out o = { 0 };
	struct err err = { 0 };

	world_reset();
	bench_start(&b);
	CHECK_EQ(txn_check(b.e, &w, 1, &o, &err), 0);
	CHECK_STR(out_text(&o), "1 0000:00:00.0 level 5\n2 0000:00:00.1 level 5\n"
				"3 0000:00:00.2 level 5\n4 0000:00:00.3 level 5\n");
	out_free(&o);
	STR_COPY(w.value, "1");
	CHECK_EQ(txn_check(b.e, &w, 1, &o, &err), 0);
	CHECK_STR(out_text(&o), "nothing to do\n");
	out_free(&o);
	STR_COPY(w.value, "13");
	CHECK_EQ(txn_check(b.e, &w, 1, &o, &err), -EINVAL);
	CHECK_STR(err.text, "13 is not a level");
	CHECK_EQ(kernel.started, 0);
	bench_stop(&b);
}
