// SPDX-License-Identifier: GPL-2.0-or-later
/* mixed_sizes and scheduler: what is planned, what is refused before anything is touched, and the texts. */
#include "facts.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "backend/gpu/budget.h"
#include "backend/gpu/settings.h"
#include "fakepci.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/mig.h"
#include "pcidevfs/model.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/scheduler.h"
#include "pcidevfs/util.h"

#define GPU FAKE_GPU
#define VF0 FAKE_VF0
#define VF1 FAKE_VF1
#define CAN "scheduler_can 1000000 30000000 1 63 960 1 60 best-effort equal-share fixed-share\n"
#define ONE "host_vgpu 1\nmixed_sizes 0\nscheduler best-effort 0 0 0\n" CAN
#define MIXED "host_vgpu 1\nmixed_sizes 1\nscheduler equal-share 0 2000000 0\n" CAN
#define TYPES "ID : vGPU Name\n747 : LAB-4Q\n748 : LAB-8Q\n749 : LAB-16Q\n"

static struct world_fake card(const char *lines)
{
	struct world_fake w = fake_vgpu_card(TYPES);

	fake_told(&w, GPU, 0, lines);
	return w;
}

#define SIZES(value) fake_plan_of(&w, GPU, "mixed_sizes", value)
#define SCHEDULER(value) fake_plan_of(&w, GPU, "scheduler", value)
#define STEP(n, verb) #n " " GPU " " verb "\n"

static void lab_4q(struct device *dev)
{
	STR_COPY(dev->facts.profile_id, "747");
	STR_COPY(dev->facts.profile, "LAB-4Q");
}

static void none(struct device *dev)
{
	dev->facts.profile_id[0] = dev->facts.profile[0] = '\0';
}

static void lacking(struct device *dev)
{
	STR_COPY(dev->facts.mig_lack, "the driver is too old");
}

static void without_vfs(struct device *dev)
{
	dev->facts.num_vfs = 0;
}

static void stored(struct device *dev)
{
	STR_COPY(dev->intent.mixed_sizes, "1");
	STR_COPY(dev->intent.scheduler, "equal-share arr=1");
}

DEFINE_TEST(settings_are_a_step_each)
{
	struct world_fake w = card(ONE);

	CHECK_STR(SIZES("1"), STEP(1, "mixed_sizes 1"));
	CHECK_STR(SIZES("0"), "nothing to do\n");
	CHECK_STR(SCHEDULER("best-effort"), "nothing to do\n");
	CHECK_STR(SCHEDULER("equal-share arr=1"), STEP(1, "scheduler equal-share arr=1"));
	fake_told(&w, GPU, 0, MIXED);
	CHECK_STR(SIZES("1"), "nothing to do\n");
	CHECK_STR(SIZES("0"), STEP(1, "mixed_sizes 0"));
	CHECK_STR(SCHEDULER("equal-share"), "nothing to do\n");
	CHECK_STR(SCHEDULER("equal-share timeslice_us=2000"), "nothing to do\n");
	CHECK_STR(SCHEDULER("equal-share timeslice_us=3000"),
		  STEP(1, "scheduler equal-share timeslice_us=3000"));
	fake_close(&w);
}

DEFINE_TEST(settings_are_refused_with_a_vgpu)
{
	struct world_fake w = card(ONE);
	struct request both[] = { fake_request(GPU, 0, "mixed_sizes", "1"),
				  fake_request(VF0, 0, "profile", "") };

	fake_edit(&w, VF0, lab_4q);
	CHECK_STR(SIZES("1"), "EBUSY: mixed_sizes of " GPU " changes only without vGPUs, and " VF0
			      " is LAB-4Q; write none to its profile first");
	CHECK_STR(SIZES("0"), "nothing to do\n");
	CHECK_STR(fake_plan(&w, both, 2, true),
		  "1 " VF0 " profile none\n" STEP(2, "mixed_sizes 1"));
	fake_edit(&w, VF0, none);
	fake_edit(&w, GPU, fake_by_alice);
	CHECK_IN(SCHEDULER("equal-share"), "EBUSY: " GPU " is passed through as a whole");
	fake_close(&w);
}

DEFINE_TEST(settings_are_refused_where_the_card_has_none)
{
	struct world_fake w = card("host_vgpu 1\n");

	CHECK_STR(SIZES("1"),
		  "EOPNOTSUPP: " GPU ", or its driver, does not offer vGPUs of different sizes");
	CHECK_STR(SIZES("0"), "nothing to do\n");
	CHECK_STR(SCHEDULER("best-effort"), "nothing to do\n");
	fake_told(&w, GPU, 0, "mode 1 1\n");
	CHECK_STR(SCHEDULER("equal-share"),
		  "EOPNOTSUPP: MIG mode of " GPU " is on, and its driver has no scheduler then; "
		  "write 0 to its mig/mode first");
	fake_told(&w, GPU, 0, "");
	CHECK_IN(SIZES("1"), "EAGAIN: what the driver of " GPU " tells of mixed_sizes");
	fake_edit(&w, GPU, lacking);
	CHECK_STR(SIZES("1"), "EOPNOTSUPP: mixed_sizes of " GPU
			      " cannot be changed now: the driver is too old");
	fake_close(&w);
}

DEFINE_TEST(a_scheduler_is_one_that_the_card_has)
{
	struct world_fake w = card(ONE);
	struct request both[] = { fake_request(GPU, 0, "mixed_sizes", "1"),
				  fake_request(GPU, 0, "scheduler", "fixed-share") };

	CHECK_STR(SCHEDULER("equal-share timeslice_us=999"),
		  "ERANGE: a time slice of " GPU " is from 1000 to 30000 us, not 999");
	/* With ARR the frequency has bounds, from 63 to 960 a second. */
	CHECK_STR(SCHEDULER("equal-share timeslice_us=1041 arr=1"),
		  "ERANGE: a time slice of " GPU " is from 1042 to 15873 us with arr=1, not 1041");
	CHECK_STR(SCHEDULER("equal-share timeslice_us=15874 arr=1"),
		  "ERANGE: a time slice of " GPU " is from 1042 to 15873 us with arr=1, not 15874");
	CHECK_STR(SCHEDULER("equal-share timeslice_us=1042 arr=1"),
		  STEP(1, "scheduler equal-share timeslice_us=1042 arr=1"));
	CHECK_STR(SCHEDULER("equal-share timeslice_us=15874"),
		  STEP(1, "scheduler equal-share timeslice_us=15874"));
	CHECK_STR(SCHEDULER("equal-share arr=1 avg_factor=61"),
		  "ERANGE: avg_factor of " GPU " is from 1 to 60, not 61");
	CHECK_STR(SCHEDULER("equal-share arr=1 avg_factor=60"),
		  STEP(1, "scheduler equal-share arr=1 avg_factor=60"));
	CHECK_IN(fake_plan(&w, both, 2, true),
		 "EINVAL: " GPU " cannot have mixed_sizes together with the scheduler fixed-share");
	fake_told(&w, GPU, 0,
		  "mixed_sizes 0\nscheduler best-effort 0 0 0\n"
		  "scheduler_can 1000000 30000000 0 0 0 0 0 best-effort equal-share\n");
	CHECK_STR(SCHEDULER("fixed-share"), "EOPNOTSUPP: " GPU " has no scheduler fixed-share; it "
					    "has best-effort equal-share");
	CHECK_STR(SCHEDULER("equal-share arr=1"),
		  "EOPNOTSUPP: " GPU " has no adaptive round robin; leave out arr=1");
	/* A driver that does not tell decides by itself. */
	fake_told(&w, GPU, 0, "scheduler fixed-share 0 2000000 0\nmixed_sizes 0\n");
	CHECK_STR(SCHEDULER("equal-share timeslice_us=1"),
		  STEP(1, "scheduler equal-share timeslice_us=1"));
	CHECK_IN(SIZES("1"), "EINVAL: " GPU " cannot have mixed_sizes together");
	fake_close(&w);
}

/* sriov-manage ends them (spec/nvml.md 5). */
DEFINE_TEST(settings_are_set_again_behind_new_vfs)
{
	struct world_fake w = card(ONE);
	struct request up[] = { fake_request(GPU, 0, "mixed_sizes", "1"),
				fake_request(GPU, 0, "sriov_numvfs", "16") };

	fake_edit(&w, GPU, without_vfs);
	CHECK_STR(SIZES("1"), "EOPNOTSUPP: " GPU " has no VFs, and mixed_sizes would be lost with "
			      "making them; write 1 to its enabled first");
	CHECK_IN(fake_plan(&w, up, 2, true), " mixed_sizes 1 (expected)\n");
	fake_edit(&w, GPU, stored);
	CHECK_IN(fake_plan_of(&w, GPU, "sriov_numvfs", "16"),
		 STEP(1, "sriov-manage 16") STEP(2, "mixed_sizes 1")
			 STEP(3, "scheduler equal-share arr=1"));
	fake_close(&w);
}

DEFINE_TEST(settings_end_before_the_vfs)
{
	struct world_fake w = card(MIXED);

	CHECK_STR(fake_plan_of(&w, GPU, "sriov_numvfs", "0"),
		  STEP(1, "mixed_sizes 0") STEP(2, "scheduler best-effort")
			  STEP(3, "sriov-manage 0"));
	fake_close(&w);
}

static enum fit fit(struct world_fake *w, const char *type)
{
	struct key key = fake_key(GPU);
	struct budget *b;
	enum fit ret;

	model_lock(w->model);
	b = budget_new(w->model, model_find(w->model, &key), NULL);
	ret = budget_fit(b, types_find(&b->types, type, NULL), -1);
	free(b);
	model_unlock(w->model);
	return ret;
}

DEFINE_TEST(sizes_differ_where_the_driver_was_told_so)
{
	struct world_fake w = card(ONE);

	fake_edit(&w, VF0, lab_4q);
	CHECK_EQ(fit(&w, "LAB-8Q"), FIT_NO);
	fake_told(&w, GPU, 0, MIXED);
	CHECK_EQ(fit(&w, "LAB-8Q"), FIT_PERHAPS);
	fake_told(&w, GPU, 0, "");
	CHECK_EQ(fit(&w, "LAB-8Q"), FIT_PERHAPS);
	fake_close(&w);
}

DEFINE_TEST(a_scheduler_is_read_as_it_is_printed)
{
	static const char *const good[] = { "best-effort", "equal-share", "fixed-share arr=0",
					    "equal-share timeslice_us=2000 arr=1",
					    "fixed-share timeslice_us=1000000 arr=1 avg_factor=9999" },
				 *const bad[] = { "",
						  "none",
						  "equal",
						  "best-effort arr=1",
						  "equal-share ",
						  "equal-share arr=2",
						  "equal-share timeslice_us=0",
						  "equal-share timeslice_us=1000001",
						  "equal-share timeslice_us=2000x",
						  "equal-share slice=3",
						  "equal-share avg_factor=3",
						  "equal-share arr=0 avg_factor=3",
						  "equal-share arr=1 avg_factor=0",
						  "equal-share arr=1 avg_factor=10000" };
	char text[SCHEDULER_TEXT], mixed[2];
	struct scheduler s;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		CHECK_EQ(scheduler_parse(good[i], &s), 0);
		scheduler_print(&s, text);
		CHECK_STR(text, good[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (!scheduler_parse(bad[i], &s))
			FAIL("\"%s\" was read", bad[i]);
	settings_read("mixed_sizes 1\nscheduler equal-share 2 33 3003003\n", mixed, text);
	CHECK_STR(text, "equal-share timeslice_us=3003 arr=1 avg_factor=33");
	CHECK(scheduler_fits(text, "equal-share arr=1 avg_factor=33"));
	CHECK(!scheduler_fits(text, "equal-share arr=1 avg_factor=32"));
	CHECK(scheduler_fits(text, "equal-share timeslice_us=3000 arr=1"));
	CHECK(!scheduler_fits(text, "equal-share timeslice_us=2000 arr=1"));
	CHECK(!scheduler_fits(text, "equal-share arr=0"));
	settings_read("mixed_sizes 7\nscheduler unknown 0 0 0\n", mixed, text);
	CHECK_STR(mixed, "");
	CHECK_STR(text, "");
}
