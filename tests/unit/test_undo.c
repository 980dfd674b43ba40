// SPDX-License-Identifier: GPL-2.0-or-later
/* An undo restores what the operation itself changed, and nothing that others wrote meanwhile. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model/engine/operation.h"
#include "facts.h"
#include "levels.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "test.h"

static void edit(struct model *m, void (*change)(struct intent *w))
{
	struct key key = dev_key(0);

	model_lock(m);
	change(&model_edit(m, &key, false)->intent);
	model_publish(m);
	model_unlock(m);
}

static void await_start(void)
{
	for (int i = 0; i < 5000 && !kernel.started; i++)
		usleep(1000);
	CHECK(kernel.started);
}

static void give_away(struct intent *w)
{
	w->owned = true;
	w->uid = w->gid = 65534;
	w->n_owners = 1;
}

static void note_before_a_step(struct intent *w)
{
	former_set(w->former, "override", "old");
	w->former_known = w->autoprobe_off = true;
}

/* chown waits for no operation; what the steps had to know goes with them. */
DEFINE_TEST(an_undone_op_leaves_the_owner_that_came_meanwhile)
{
	struct bench b = { 0 };
	struct verdict v;
	struct intent w;

	world_reset();
	bench_start(&b);
	kernel.fail_at = 1;
	pthread_mutex_lock(&kernel.gate);
	submit(&b, 0, "5", &v);
	await_start();
	edit(b.m, give_away);
	edit(b.m, note_before_a_step);
	pthread_mutex_unlock(&kernel.gate);
	await(&v);
	CHECK_EQ(v.err.code, EIO);
	w = look(&b, 0).intent;
	CHECK(w.owned);
	CHECK_EQ(w.uid, 65534);
	CHECK_EQ(w.gid, 65534);
	CHECK_EQ(w.n_owners, 1);
	CHECK_STR(former_of(w, "override"), "");
	CHECK(!w.former_known);
	CHECK(!w.autoprobe_off);
	bench_stop(&b);
}

static void begin_a_claim(struct intent *w)
{
	CHECK_STR(w->claim, "1"); /* not kept yet */
	former_set(w->former, "driver", "e1000");
	w->former_known = true;
}

static void another_begins(struct model *m)
{
	edit(m, begin_a_claim);
}

/* Without steps it holds nobody off: another operation may have begun. */
DEFINE_TEST(what_the_disk_refuses_takes_nothing_from_the_next_op)
{
	struct bench b = { 0 };
	struct verdict v;

	world_reset();
	bench_start(&b);
	disk.fail_kept = 1;
	in_keep = another_begins;
	CHECK_EQ(set(&b, 0, "1", &v), ENOSPC);
	CHECK_EQ(kernel.started, 0);
	CHECK_STR(look(&b, 0).intent.claim, "");
	CHECK_STR(former_of(look(&b, 0).intent, "driver"), "e1000");
	CHECK(look(&b, 0).intent.former_known);
	bench_stop(&b);
}

static struct bench two;
static struct verdict second;

static void the_same_again(struct model *m)
{
	disk.fail_kept = 0;
	submit(&two, 0, "1", &second);
	usleep(100000); /* long enough to end, if it did not have to wait */
}

/* What was kept stays, although another operation that wrote the same was refused. */
DEFINE_TEST(what_the_disk_refuses_takes_nothing_from_who_asks_for_the_same)
{
	struct request w = { .dev = dev_key(0), .file = "level", .value = "1" };
	struct verdict first = { 0 };

	world_reset();
	bench_start(&two);
	disk.fail_kept = 1;
	in_keep = the_same_again;
	txn_submit(two.e, &w, 1, &(struct actor){ 0 }, told, &first);
	await(&first);
	await(&second);
	CHECK_EQ(first.err.code, ENOSPC);
	CHECK_EQ(second.err.code, 0);
	CHECK_STR(look(&two, 0).intent.claim, "1");
	bench_stop(&two);
}

static void die(struct model *m)
{
	kill(getpid(), SIGKILL);
}

/* The next process knows what was requested before, not only what the dead one had recorded. */
DEFINE_TEST(killed_while_it_is_kept_an_op_is_undone_as_a_whole)
{
	for (int level = 1; level <= 5; level += 4) {
		struct bench b = { 0 };
		struct verdict v;
		char text[16];
		pid_t pid;

		snprintf(text, sizeof(text), "%d", level);
		world_reset();
		bench_start(&b);
		edit(b.m, give_away);
		bench_stop(&b);
		pid = fork();
		CHECK(pid >= 0);
		if (!pid) {
			in_keep = die;
			bench_start(&b);
			submit(&b, 0, text, &v);
			await(&v);
			_exit(0);
		}
		CHECK_EQ(waitpid(pid, NULL, 0), pid);
		disk.fail_kept = 1;
		bench_start(&b);
		CHECK_STR(look(&b, 0).intent.claim, text);
		bench_recover(&b, true);
		submit(&b, 0, text, &v); /* sent again */
		await(&v);
		CHECK_EQ(v.err.code, ENOSPC);
		CHECK_STR(look(&b, 0).intent.claim, "");
		CHECK(look(&b, 0).intent.owned);
		for (int i = 0; i < DEVICES; i++)
			CHECK_EQ(kernel.level[i], 1);
		bench_stop(&b);
	}
}

static void name_it(struct intent *w)
{
	STR_COPY(w->resource, "x.com/others");
}

/* ... which is nothing that others have written before it noted it once more. */
DEFINE_TEST(killed_while_it_is_kept_an_op_takes_nothing_from_who_comes_next)
{
	struct bench b = { 0 };
	struct verdict v;
	pid_t pid;

	world_reset();
	bench_start(&b);
	bench_stop(&b);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		in_keep = die;
		bench_start(&b);
		submit(&b, 0, "1", &v);
		await(&v);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	disk.fail_kept = 1;
	bench_start(&b);
	CHECK_STR(look(&b, 0).intent.claim, "1");
	edit(b.m, name_it);
	bench_recover(&b, true);
	submit(&b, 0, "1", &v); /* sent again */
	await(&v);
	CHECK_EQ(v.err.code, ENOSPC);
	CHECK_STR(look(&b, 0).intent.claim, "");
	CHECK_STR(look(&b, 0).intent.resource, "x.com/others");
	bench_stop(&b);
}

/* No field is 0. */
static const struct intent all_fields = {
#define INTENT(type, name, bit, whose) .name = 1,
#define INTENT_TEXT(name, size, bit, whose) .name = "1",
#define INTENT_ARRAY(type, name, n, bit, whose) .name = { 1 },
#include "pcidevfs/intents.def"
};

DEFINE_TEST(every_field_of_a_request_is_an_ops_or_not)
{
	const char *byte = (const char *)&all_fields;

	for (size_t i = 0; i < sizeof(all_fields); i++)
		if (byte[i] && !snapshot_knows(i))
			FAIL("byte %zu of struct want is of no part", i);
}

/* A line about it that the model alone decides says nothing about it; the steps do, whatever line
 * they are of. */
DEFINE_TEST(what_is_stuck_ends_with_an_operation_that_has_steps_for_it)
{
	struct request w[] = { { .dev = dev_key(1), .file = "note", .value = "x" },
			       { .dev = dev_key(0), .file = "level", .value = "6" } };
	struct bench b = { 0 };

	world_reset();
	bench_start(&b);
	for (size_t n = 1; n <= 2; n++) {
		struct verdict v;

		kernel.fail_at = 2;
		kernel.undo_fails_at = 1;
		CHECK_EQ(set(&b, 0, "5", &v), EIO);
		kernel.fail_at = kernel.undo_fails_at = -1;
		v = (struct verdict){ 0 };
		txn_submit(b.e, w, n, &(struct actor){ 0 }, told, &v);
		await(&v);
		CHECK_EQ(v.err.code, 0);
		CHECK_EQ(!look(&b, 1).stuck[0], n == 2);
	}
	bench_stop(&b);
}
