// SPDX-License-Identifier: GPL-2.0-or-later
/* A device pulled out and put back during an operation is another one, and free for others. */
#include <errno.h>
#include <unistd.h>

#include "levels.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "test.h"

/* ... who take it at once. */
static void replace(struct model *m, int dev, const char *busy)
{
	struct key key = dev_key(dev);
	struct device *d;

	model_lock(m);
	model_remove(m, &key);
	d = model_edit(m, &key, true);
	d->facts.vendor = 1;
	d->facts.iommu_group = 1;
	STR_COPY(d->busy, busy);
	STR_COPY(d->intent.claim, "bob");
	model_publish(m);
	model_unlock(m);
}

static void check_untouched(struct bench *b, int dev)
{
	CHECK_STR(look(b, dev).busy, "other 1");
	CHECK_STR(look(b, dev).intent.claim, "bob");
	CHECK_STR(look(b, dev).stuck, "");
}

DEFINE_TEST(an_op_that_ends_leaves_a_device_in_place_of_its_own_alone)
{
	for (int late = 0; late < 2; late++) {
		struct bench b = { 0 };
		struct verdict v;

		world_reset();
		bench_start(&b);
		kernel.fail_at = 1;
		kernel.fail_code = late ? ETIMEDOUT : EIO;
		kernel.late_waits = late;
		pthread_mutex_lock(&kernel.gate);
		submit(&b, 0, "5", &v);
		while (kernel.started < 1)
			usleep(100);
		replace(b.m, 3, "other 1");
		pthread_mutex_unlock(&kernel.gate);
		await(&v);
		CHECK_EQ(v.err.code, kernel.fail_code);
		check_untouched(&b, 3);
		kernel.late_waits = false;
		for (int i = 0; i < 5000 && look(&b, 0).busy[0]; i++)
			usleep(1000);
		CHECK_STR(look(&b, 0).busy, "");
		CHECK_EQ(kernel.level[0], 1);
		check_untouched(&b, 3);
		bench_stop(&b);
	}
}

/* The last device is pulled out, and what the steps did to the first one is seen. */
static void pull_last(struct model *m)
{
	const struct key first = dev_key(0), last = dev_key(DEVICES - 1);

	kernel.gone = DEVICES - 1;
	model_lock(m);
	model_remove(m, &last);
	model_edit(m, &first, false)->facts.numa_node = 5;
	model_publish(m);
	model_unlock(m);
}

/* Who was refused reads at once how the undo has left the others. */
DEFINE_TEST(an_undone_op_looks_at_all_it_touched_though_its_own_device_is_gone)
{
	struct bench b = { 0 };
	struct verdict v;

	world_reset();
	bench_start(&b);
	pthread_mutex_lock(&kernel.gate);
	submit(&b, DEVICES - 1, "5", &v);
	while (kernel.started < 1)
		usleep(100);
	pull_last(b.m);
	pthread_mutex_unlock(&kernel.gate);
	await(&v);
	CHECK_EQ(v.err.code, ENODEV);
	CHECK_EQ(kernel.level[0], 1);
	CHECK_EQ(look(&b, 0).facts.numa_node, 1);
	bench_stop(&b);
}

static void replace_last(struct model *m)
{
	if (kernel.started < DEVICES)
		return;
	before_look = NULL;
	replace(m, 1, "other 1");
}

/* `top` comes in a stage of its own, behind what happens before the look at the first one. */
static void run_two_stages(struct bench *b, struct verdict *v, void (*between)(struct model *m))
{
	struct request w[2] = { { .dev = dev_key(1), .file = "top", .value = "x" },
			     { .dev = dev_key(0), .file = "level", .value = "5" } };

	before_look = between;
	txn_submit(b->e, w, 2, &(struct actor){ 0 }, told, v);
	await(v);
}

/* What a later stage plans on is taken by then. */
DEFINE_TEST(a_later_stage_does_not_take_what_others_have_taken)
{
	struct bench b = { 0 };
	struct verdict v = { 0 };

	world_reset();
	bench_start(&b);
	run_two_stages(&b, &v, replace_last);
	CHECK_EQ(v.err.code, EBUSY);
	CHECK_IN(v.err.text, "0000:00:00.1 is busy: other 1 is running");
	check_untouched(&b, 1);
	CHECK_EQ(kernel.level[0], 1);
	CHECK_EQ(kernel.level[1], 5); /* as it came, for all we know */
	bench_stop(&b);
}

static void replace_freely(struct model *m)
{
	if (kernel.started < DEVICES)
		return;
	before_look = NULL;
	replace(m, 1, "");
}

/* Which the later stage has taken: nothing was asked of it before but its own. */
DEFINE_TEST(an_undone_op_gives_a_card_nothing_of_the_one_before)
{
	struct bench b = { 0 };
	struct verdict v = { 0 };

	world_reset();
	bench_start(&b);
	disk.fail_kept = 1;
	run_two_stages(&b, &v, replace_freely);
	CHECK_EQ(v.err.code, ENOSPC);
	CHECK(!before_look);
	CHECK_STR(look(&b, 1).intent.claim, "bob");
	CHECK_STR(look(&b, 1).busy, "");
	CHECK_STR(look(&b, 0).intent.claim, "");
	bench_stop(&b);
}

static void never(void *ctx)
{
	FAIL("an engine that has ended takes jobs");
}

/* A worker of the tree may come to it as late as that. */
DEFINE_TEST(who_asks_an_engine_that_has_ended_is_refused)
{
	struct bench b = { 0 };
	struct verdict v;

	world_reset();
	bench_start(&b);
	CHECK(engine_end(b.e, NULL));
	CHECK_EQ(engine_defer(b.e, &(struct actor){ .opener.reserve = true }, never, NULL),
		 -ESHUTDOWN);
	CHECK_EQ(set(&b, 0, "5", &v), EAGAIN);
	CHECK_EQ(kernel.started, 0);
	bench_stop(&b);
}
