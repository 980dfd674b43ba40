// SPDX-License-Identifier: GPL-2.0-or-later
/* What is planned for MIG mode and for layouts, and what is refused before anything is touched. */
#include "facts.h"
#include "test.h"

#include <errno.h>
#include <string.h>

#include "backend/gpu/mig_steps.h"
#include "backend/gpu/types.h"
#include "fakepci.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/mig.h"
#include "pcidevfs/model.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/util.h"

#define GPU FAKE_GPU
#define VF0 FAKE_VF0
#define H100                                                                                       \
	"profile 19 7 7 9984 1 0,1,2,3,4,5,6:1 1g.10gb\n"                                          \
	"profile 14 3 3 20096 2 0,2,4:2 2g.20gb\n"                                                 \
	"profile 9 2 2 40448 3 0,4:4 3g.40gb\n"                                                    \
	"profile 5 1 1 40448 4 0:4 4g.40gb\n"                                                      \
	"profile 0 1 1 81152 7 0:8 7g.80gb\n"
#define OFF "mode 0 0\n" H100
#define ON "mode 1 1\n" H100
#define ONE ON "instance 5 9 4 4\ncompute 5 0 0 3 3g.40gb\n"

/* Without VFs. */
static struct world_fake bare(const char *lines)
{
	struct world_fake w;

	fake_machine();
	fake_add(&(struct fake){ GPU, "0x10de\n", "0x2330\n", "0x030200\n", "nvidia", 41 });
	fake_attr(GPU, "sriov_totalvfs", "2\n");
	fake_attr(GPU, "sriov_vf_device", "2330\n");
	w = fake_open();
	fake_told(&w, GPU, CAP_MIG, lines);
	return w;
}

/* With two, which are no vGPUs. */
static struct world_fake card(const char *lines)
{
	struct world_fake w = fake_vgpu_card("ID : vGPU Name\n747 : NVIDIA H100-1-10C\n");

	fake_told(&w, GPU, CAP_MIG, lines);
	return w;
}

#define MODE(value) fake_plan_of(&w, GPU, "mig/mode", value)
#define LAYOUT(value) fake_plan_of(&w, GPU, "mig/layout", value)
#define STEP(n, verb) #n " " GPU " mig/" verb "\n"

DEFINE_TEST(mig_mode_is_one_step_where_the_card_is_free)
{
	struct world_fake w = bare(OFF);

	CHECK_STR(MODE("1"), STEP(1, "mode 1"));
	CHECK_STR(MODE("0"), "nothing to do\n");
	fake_told(&w, GPU, CAP_MIG, ONE);
	CHECK_STR(MODE("1"), "nothing to do\n");
	CHECK_STR(MODE("0"), STEP(1, "destroy 9 3g.40gb 4:4") STEP(2, "mode 0"));
	/* What waits for a reset is tried again: it may go now. */
	fake_told(&w, GPU, CAP_MIG, "mode 0 1\n" H100);
	CHECK_STR(MODE("1"), STEP(1, "mode 1"));
	CHECK_STR(MODE("0"), STEP(1, "mode 0"));
	fake_close(&w);
}

static void coming(struct device *dev)
{
	STR_COPY(dev->intended, "carol");
}

static void not_coming(struct device *dev)
{
	dev->intended[0] = '\0';
}

static void vgpu_on_5(struct device *dev)
{
	STR_COPY(dev->facts.profile_id, "747");
	STR_COPY(dev->facts.profile, "NVIDIA H100-1-10C");
	dev->facts.gpu_instance_id = 5;
}

static void lacking(struct device *dev)
{
	STR_COPY(dev->facts.mig_lack, "the driver is not loaded; load it with modprobe nvidia");
}

DEFINE_TEST(mig_mode_is_refused_to_whom_is_in_the_way)
{
	struct world_fake w = card(OFF);

	CHECK_STR(MODE("1"), "EBUSY: MIG mode of " GPU " changes only without VFs, and it has 2; "
			     "write 0 to its enabled first");
	fake_edit(&w, VF0, vgpu_on_5);
	CHECK_STR(MODE("1"), "EBUSY: MIG mode of " GPU " changes only without vGPUs, and " VF0
			     " is NVIDIA H100-1-10C; write 0 to enabled of " GPU " first");
	CHECK_STR(MODE("0"), "nothing to do\n");
	fake_close(&w);
}

DEFINE_TEST(mig_mode_is_refused_where_the_card_is_not_free)
{
	struct world_fake w = bare(OFF);

	fake_edit(&w, GPU, fake_by_qemu);
	CHECK_STR(MODE("1"),
		  "EBUSY: " GPU " is held by qemu kvm (pid 812); stop it and write again");
	CHECK_STR(MODE("0"), "nothing to do\n");
	fake_edit(&w, GPU, fake_by_alice);
	CHECK_STR(MODE("1"), "EBUSY: " GPU " is passed through as a whole; write none to its claim "
			     "first");
	fake_close(&w);
}

DEFINE_TEST(mig_mode_is_refused_where_nothing_is_known)
{
	struct world_fake w = bare(OFF);

	fake_edit(&w, GPU, coming);
	CHECK_IN(MODE("1"), "EBUSY: " GPU " is stored as claimed by carol");
	fake_edit(&w, GPU, not_coming);
	fake_told(&w, GPU, CAP_MIG, "");
	CHECK_STR(MODE("1"),
		  "EAGAIN: what the driver of " GPU " tells of MIG is not known yet; write "
		  "again");
	fake_edit(&w, GPU, lacking);
	CHECK_STR(MODE("1"), "EOPNOTSUPP: MIG of " GPU " cannot be changed now: the driver is not "
			     "loaded; load it with modprobe nvidia");
	CHECK_IN(LAYOUT("1g.10gb"), "EOPNOTSUPP: MIG of " GPU " cannot be changed now: ");
	fake_told(&w, GPU, CAP_MIG, ONE "process 812 5 0\n");
	CHECK_STR(MODE("0"),
		  "EBUSY: MIG instance 5 (3g.40gb) is used by process 812, and all go with "
		  "MIG mode; end that first");
	fake_close(&w);
}

DEFINE_TEST(a_layout_is_reached_without_what_can_stay)
{
	struct world_fake w = bare(ON);

	CHECK_STR(LAYOUT("3g.40gb 1g.10gb*2"),
		  STEP(1, "create 19 1g.10gb 0:1") STEP(2, "create 19 1g.10gb 1:1")
			  STEP(3, "create 9 3g.40gb 4:4"));
	CHECK_STR(LAYOUT("1c.3g.40gb*2 3g.40gb"),
		  STEP(1, "create 9 3g.40gb 0:4 1c*2") STEP(2, "create 9 3g.40gb 4:4"));
	CHECK_STR(LAYOUT(""), "nothing to do\n");
	fake_told(&w, GPU, CAP_MIG, ONE);
	CHECK_STR(LAYOUT("3g.40gb"), "nothing to do\n");
	CHECK_STR(LAYOUT("3g.40gb 1g.10gb"), STEP(1, "create 19 1g.10gb 0:1"));
	CHECK_STR(LAYOUT("4g.40gb 1g.10gb"),
		  STEP(1, "destroy 9 3g.40gb 4:4") STEP(2, "create 19 1g.10gb 4:1")
			  STEP(3, "create 5 4g.40gb 0:4"));
	CHECK_STR(LAYOUT("none"), STEP(1, "destroy 9 3g.40gb 4:4"));
	CHECK_STR(LAYOUT(""), STEP(1, "destroy 9 3g.40gb 4:4"));
	/* The GPU instance stays; what it is divided into changes. */
	CHECK_STR(LAYOUT("1c.3g.40gb"), STEP(1, "compute 9 3g.40gb 4:4 1c"));
	fake_told(&w, GPU, CAP_MIG,
		  ON "instance 5 9 4 4\ncompute 5 0 0 1\ncompute 5 1 1 1\ninstance 6 9 0 4\n");
	CHECK_STR(LAYOUT("3g.40gb 1c.3g.40gb*2"), STEP(1, "compute 9 3g.40gb 0:4"));
	CHECK_STR(LAYOUT("3g.40gb*2"),
		  STEP(1, "compute 9 3g.40gb 4:4") STEP(2, "compute 9 3g.40gb 0:4"));
	fake_close(&w);
}

DEFINE_TEST(a_layout_is_refused_before_anything_is_touched)
{
	struct world_fake w = bare(ONE);

	CHECK_STR(LAYOUT("3g.40gb*2 1g.10gb"),
		  "ENOSPC: 3g.40gb*2 1g.10gb does not fit on this card; 3g.40gb*2 would");
	CHECK_IN(LAYOUT("1g.5gb"), "EINVAL: \"1g.5gb\" is not a MIG profile of this card");
	CHECK_IN(LAYOUT("1g.10gb*8"), "ERANGE: 8 of 1g.10gb are wanted; the card can have 7");
	fake_told(&w, GPU, CAP_MIG, ONE "vm 5 747 6fd7\n");
	CHECK_STR(LAYOUT("4g.40gb 1g.10gb"),
		  "EBUSY: MIG instance 5 (3g.40gb) is used by VM 6fd7; end that, or leave the "
		  "instance in the layout");
	CHECK_IN(LAYOUT(""), "EBUSY: MIG instance 5 (3g.40gb) is used by VM 6fd7");
	CHECK_STR(LAYOUT("3g.40gb 1g.10gb"), STEP(1, "create 19 1g.10gb 0:1"));
	CHECK_STR(LAYOUT("1c.3g.40gb"),
		  "EBUSY: MIG instance 5 (3g.40gb) is used by VM 6fd7, and its compute instances "
		  "would change; end that first");
	/* A guest has made its own. */
	fake_told(&w, GPU, CAP_MIG, ON "instance 5 9 4 4\nvm 5 747 6fd7\n");
	CHECK_STR(LAYOUT("3g.40gb"), "nothing to do\n");
	fake_told(&w, GPU, CAP_MIG, OFF);
	CHECK_STR(LAYOUT("1g.10gb"),
		  "EOPNOTSUPP: MIG mode of " GPU " is off; write 1 to its mig/mode first");
	CHECK_STR(LAYOUT(""), "nothing to do\n");
	fake_told(&w, GPU, CAP_MIG, "mode 0 1\n" H100);
	CHECK_STR(LAYOUT("1g.10gb"),
		  "EBUSY: MIG mode of " GPU " comes with a reset of the card or a "
		  "reboot, which is yours to do; write the layout then");
	fake_told(&w, GPU, CAP_MIG, "mode 1 1\n");
	CHECK_STR(LAYOUT("1g.10gb"),
		  "EAGAIN: the driver of " GPU " tells no MIG profiles yet; write again");
	fake_told(&w, GPU, CAP_MIG, ONE);
	fake_edit(&w, GPU, fake_by_alice);
	CHECK_IN(LAYOUT("1g.10gb"), "EBUSY: " GPU " is passed through as a whole");
	fake_close(&w);
}

/* A vGPU that no VM runs is known by its VF alone. */
DEFINE_TEST(an_instance_of_a_vgpu_stays)
{
	struct world_fake w = card(ONE);
	struct request both[] = { fake_request(GPU, 0, "mig/layout", "1g.10gb"),
				  fake_request(VF0, 0, "profile", "") };

	fake_edit(&w, VF0, vgpu_on_5);
	CHECK_STR(LAYOUT("1g.10gb"), "EBUSY: MIG instance 5 (3g.40gb) is used by vGPU " VF0
				     "; end that, or leave the instance in the layout");
	/* In one transaction it ends first. */
	CHECK_STR(fake_plan(&w, both, 2, false),
		  "1 " VF0 " profile none\n" STEP(2, "destroy 9 3g.40gb 4:4")
			  STEP(3, "create 19 1g.10gb 0:1"));
	fake_close(&w);
}

DEFINE_TEST(mode_vfs_layout_and_back)
{
	struct world_fake w = bare(OFF);
	struct request up[] = { fake_request(GPU, 0, "mig/layout", "3g.40gb"),
				fake_request(GPU, 0, "sriov_numvfs", "2"),
				fake_request(GPU, 0, "mig/mode", "1") };

	CHECK_STR(fake_plan(&w, up, 3, true),
		  STEP(1, "mode 1") "2 " GPU " sriov-manage 2 (expected)\n"
				    "3 " GPU " mig/create 9 3g.40gb 0:4 (expected)\n");
	CHECK_STR(fake_plan(&w, up, 3, false), STEP(1, "mode 1") "more\n");
	/* Before R550 profiles are told only with the mode on. */
	fake_told(&w, GPU, CAP_MIG, "mode 0 0\n");
	CHECK_IN(fake_plan(&w, up, 3, true), "3 " GPU " mig/create 3g.40gb (expected)\n");
	fake_told(&w, GPU, CAP_MIG, OFF);
	up[2].value[0] = '0';
	CHECK_IN(fake_plan(&w, up, 3, true),
		 "EINVAL: MIG mode of " GPU " is off at the end of this "
		 "transaction");
	fake_close(&w);
}

DEFINE_TEST(down_is_the_reverse)
{
	struct world_fake w = card(ONE);
	struct request down[] = { fake_request(GPU, 0, "mig/mode", "0"),
				  fake_request(GPU, 0, "sriov_numvfs", "0"),
				  fake_request(GPU, 0, "mig/layout", "") };

	CHECK_STR(fake_plan(&w, down, 3, true),
		  STEP(1, "destroy 9 3g.40gb 4:4") "2 " GPU " sriov-manage 0\n"
						   "3 " GPU " mig/mode 0 (expected)\n");
	/* Without the layout they go with the mode. */
	CHECK_STR(fake_plan(&w, down, 2, true),
		  STEP(1, "destroy 9 3g.40gb 4:4") "2 " GPU " sriov-manage 0\n"
						   "3 " GPU " mig/mode 0 (expected)\n");
	/* A vGPU goes with its VF, and is not in the way of the layout. */
	fake_edit(&w, VF0, vgpu_on_5);
	CHECK_STR(fake_plan(&w, down + 1, 2, false),
		  "1 " VF0 " profile none\n" STEP(2, "destroy 9 3g.40gb 4:4") "3 " GPU
									      " sriov-manage 0\n");
	fake_close(&w);
}

/* sriov-manage binds the card anew, and the driver forgets them (spec/nvml.md 5). */
DEFINE_TEST(instances_are_made_again_behind_new_vfs)
{
	struct world_fake w = bare(ONE);
	struct request both[] = { fake_request(GPU, 0, "sriov_numvfs", "2"),
				  fake_request(GPU, 0, "mig/layout", "1g.10gb") };

	CHECK_STR(fake_plan_of(&w, GPU, "sriov_numvfs", "2"),
		  STEP(1, "destroy 9 3g.40gb 4:4") "2 " GPU " sriov-manage 2\n" STEP(
			  3, "create 9 3g.40gb 4:4"));
	CHECK_STR(fake_plan(&w, both, 2, false),
		  STEP(1, "destroy 9 3g.40gb 4:4") "2 " GPU " sriov-manage 2\nmore\n");
	fake_told(&w, GPU, CAP_MIG, ONE "process 812 5 0\n");
	CHECK_STR(
		fake_plan_of(&w, GPU, "sriov_numvfs", "2"),
		"EBUSY: MIG instance 5 (3g.40gb) is used by process 812, and all are lost when its "
		"VFs come or go; end that first");
	fake_close(&w);
}

DEFINE_TEST(a_place_is_read_as_it_is_printed)
{
	static const char *const good[] = { "9 3g.40gb 4:4", "0 7g.80gb 0:8 none",
					    "9 3g.40gb 4:4 2c 1c", "19 1g.10gb+me 0:1 1c*15" },
				 *const bad[] = { "",
						  "9 3g.40gb",
						  "9 3g.40gb 15:4",
						  "9 3g.40gb 4:4x",
						  "9 3g.40gb -1:1",
						  "-9 3g.40gb 4:4",
						  "9 3g.40gb 4:4 1c*0",
						  "9 3g.40gb 4:4 16c",
						  "9 3g.40gb 4:4 c",
						  "9 3g.40gb 4:4 1c none",
						  "9 3g.40gb 4:4 1c*2x",
						  "-1 3g.40gb 4:4 1c; rm" };
	char text[STEP_VALUE];
	struct mig_spot s;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		CHECK_EQ(mig_spot_read(good[i], &s), 0);
		mig_spot_print(&s, text);
		CHECK_STR(text, good[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (!mig_spot_read(bad[i], &s))
			FAIL("\"%s\" was read", bad[i]);
}

#define TYPES                                                                                      \
	"type 747 19 7 1 10240 1 60 Compute\tL\tNVIDIA H100-1-10C\n"                               \
	"type 750 14 3 1 20480 1 60 Compute\tL\tNVIDIA H100-2-20C\n"                               \
	"type 760 -1 10 1 8192 1 60 Compute\tL\tNVIDIA H100-8C\n"

static void tell_types(struct world_fake *w, const char *lines)
{
	struct key key = fake_key(GPU);

	fake_told(w, GPU, CAP_MIG, lines);
	model_lock(w->model);
	types_tell(w->model, model_edit(w->model, &key, false));
	model_publish(w->model);
	model_unlock(w->model);
	CHECK_EQ(backend_scan(w->backend, NULL), 0); /* the VFs have them too */
	fake_told(w, GPU, CAP_MIG, lines);
}

static const char *becomes(struct world_fake *w, const char *type)
{
	struct request request = fake_request(VF0, 0, "profile", type);

	return fake_plan(w, &request, 1, false);
}

DEFINE_TEST(a_vgpu_needs_an_instance_of_its_types_profile)
{
	struct world_fake w = card(ON);
	struct request both[] = { fake_request(VF0, 0, "profile", "NVIDIA H100-2-20C"),
				  fake_request(GPU, 0, "mig/layout", "2g.20gb 1g.10gb") };

	tell_types(&w, ON "instance 5 19 0 1\ncompute 5 0 0 1 1g.10gb\n" TYPES);
	CHECK_STR(becomes(&w, "NVIDIA H100-1-10C"), "1 " VF0 " profile NVIDIA H100-1-10C\n");
	CHECK_STR(becomes(&w, "NVIDIA H100-2-20C"),
		  "ENOSPC: " VF0
		  " cannot become NVIDIA H100-2-20C: it needs a MIG instance 2g.20gb, "
		  "and the card has none; add one to mig/layout; possible now: NVIDIA H100-1-10C");
	CHECK_IN(becomes(&w, "NVIDIA H100-8C"),
		 "MIG mode is on, and this type is for a card without");
	CHECK_STR(fake_plan(&w, both, 2, true),
		  STEP(1, "create 14 2g.20gb 2:2") "2 " VF0
						   " profile NVIDIA H100-2-20C (expected)\n");
	fake_edit(&w, FAKE_VF1, vgpu_on_5);
	both[0] = fake_request(VF0, 0, "profile", "NVIDIA H100-1-10C");
	CHECK_IN(fake_plan(&w, both, 2, true),
		 "it needs a MIG instance 1g.10gb, and vGPUs have all 1 of the card; add one to "
		 "mig/layout");
	tell_types(&w, OFF TYPES);
	CHECK_IN(becomes(&w, "NVIDIA H100-2-20C"),
		 "it needs a MIG instance 2g.20gb, and MIG mode is off");
	fake_close(&w);
}
