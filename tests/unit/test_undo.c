// SPDX-License-Identifier: GPL-2.0-or-later
/* An undo restores what the operation itself changed, and nothing that others wrote meanwhile. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model/engine/act.h"
#include "facts.h"
#include "levels.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "test.h"

static void edit(struct model *m, void (*change)(struct want *w))
{
	struct key key = dev_key(0);

	model_lock(m);
	change(&model_edit(m, &key, false)->want);
	model_publish(m);
	model_unlock(m);
}

static void await_start(void)
{
	for (int i = 0; i < 5000 && !kernel.started; i++)
		usleep(1000);
	CHECK(kernel.started);
}

static void give_away(struct want *w)
{
	w->owned = true;
	w->uid = w->gid = 65534;
	w->n_owners = 1;
}

static void note_before_a_step(struct want *w)
{
	former_set(w->former, "override", "old");
	w->former_known = w->autoprobe_off = true;
}

/* chown waits for no act; what the steps had to know goes with them. */
DEFINE_TEST(an_undone_act_leaves_the_owner_that_came_meanwhile)
{
	struct bench b = { 0 };
	struct verdict v;
	struct want w;

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
	w = look(&b, 0).want;
	CHECK(w.owned);
	CHECK_EQ(w.uid, 65534);
	CHECK_EQ(w.gid, 65534);
	CHECK_EQ(w.n_owners, 1);
	CHECK_STR(former_of(w, "override"), "");
	CHECK(!w.former_known);
	CHECK(!w.autoprobe_off);
	bench_stop(&b);
}

static void begin_a_claim(struct want *w)
{
	CHECK_STR(w->claim, "1"); /* not kept yet */
	former_set(w->former, "driver", "e1000");
	w->former_known = true;
}

static void another_begins(struct model *m)
{
	edit(m, begin_a_claim);
}

/* Without steps it holds nobody off: another act may have begun. */
DEFINE_TEST(what_the_disk_refuses_takes_nothing_from_the_next_act)
{
	struct bench b = { 0 };
	struct verdict v;

	world_reset();
	bench_start(&b);
	disk.fail_kept = 1;
	in_keep = another_begins;
	CHECK_EQ(set(&b, 0, "1", &v), ENOSPC);
	CHECK_EQ(kernel.started, 0);
	CHECK_STR(look(&b, 0).want.claim, "");
	CHECK_STR(former_of(look(&b, 0).want, "driver"), "e1000");
	CHECK(look(&b, 0).want.former_known);
	bench_stop(&b);
}

static struct bench two;
static struct verdict second;

static void the_same_again(struct model *m)
{
	(void)m;
	disk.fail_kept = 0;
	submit(&two, 0, "1", &second);
	usleep(100000); /* long enough to end, if it did not have to wait */
}

/* What was kept stays, although another act that wrote the same was refused. */
DEFINE_TEST(what_the_disk_refuses_takes_nothing_from_who_asks_for_the_same)
{
	struct wish w = { .dev = dev_key(0), .file = "level", .value = "1" };
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
	CHECK_STR(look(&two, 0).want.claim, "1");
	bench_stop(&two);
}

static void die(struct model *m)
{
	(void)m;
	kill(getpid(), SIGKILL);
}

/* The next process knows what was requested before, not only what the dead one had recorded. */
DEFINE_TEST(killed_while_it_is_kept_an_act_is_undone_as_a_whole)
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
		CHECK_STR(look(&b, 0).want.claim, text);
		engine_recover(b.e, true);
		submit(&b, 0, text, &v); /* sent again */
		await(&v);
		CHECK_EQ(v.err.code, ENOSPC);
		CHECK_STR(look(&b, 0).want.claim, "");
		CHECK(look(&b, 0).want.owned);
		for (int i = 0; i < DEVICES; i++)
			CHECK_EQ(kernel.level[i], 1);
		bench_stop(&b);
	}
}

static void name_it(struct want *w)
{
	STR_COPY(w->resource, "x.com/others");
}

/* ... which is nothing that others have written before it noted it once more. */
DEFINE_TEST(killed_while_it_is_kept_an_act_takes_nothing_from_who_comes_next)
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
	CHECK_STR(look(&b, 0).want.claim, "1");
	edit(b.m, name_it);
	engine_recover(b.e, true);
	submit(&b, 0, "1", &v); /* sent again */
	await(&v);
	CHECK_EQ(v.err.code, ENOSPC);
	CHECK_STR(look(&b, 0).want.claim, "");
	CHECK_STR(look(&b, 0).want.resource, "x.com/others");
	bench_stop(&b);
}

/* No field is 0, nor missing: without one for each this does not compile. */
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wmissing-field-initializers"
static const struct want all_fields = { "1", "1",   true, true, 1,   1,   1,    true, 1,
					{ 1 }, true, true, "1",  "1",	"1", true, "1", "1" };
#pragma GCC diagnostic pop

DEFINE_TEST(every_field_of_a_wish_is_an_acts_or_not)
{
	const char *byte = (const char *)&all_fields;

	for (size_t i = 0; i < sizeof(all_fields); i++)
		if (byte[i] && !saved_knows(i))
			FAIL("byte %zu of struct want is of no part", i);
}
