// SPDX-License-Identifier: GPL-2.0-or-later
/* What is planned for the VFs of a GPU, and what is refused. */
#include "facts.h"
#include "test.h"

#include <errno.h>
#include <string.h>

#include "backend/ask.h"
#include "backend/claim.h"
#include "backend/gpu/daemons.h"
#include "backend/gpu/types.h"
#include "backend/gpu/vgpu.h"
#include "backend/gpu/world.h"
#include "fakepci.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/util.h"

#define GPU FAKE_GPU
#define VF0 FAKE_VF0
#define VF1 FAKE_VF1
#define LIST                                                                                       \
	"ID    : vGPU Name\n745   : NVIDIA A2-2Q\n747   : NVIDIA A2-4Q\n748   : NVIDIA A2-8Q\n"    \
	"801   : twin\n802   : twin\n"

#define card() fake_vgpu_card(LIST)

static void becomes(struct world_fake *w, const char *vf, const char *id, const char *list)
{
	fake_attr(vf, "nvidia/current_vgpu_type", id);
	fake_attr(vf, "nvidia/creatable_vgpu_types", list);
	CHECK_EQ(backend_scan(w->backend, NULL), 0);
}

static const char *plan_of(struct world_fake *w, const char *address, const char *file,
			   const char *value)
{
	struct request request = fake_request(address, 0, file, value);

	return fake_plan(w, &request, 1, false);
}

#define PLAN_OF(value) plan_of(&w, VF0, "profile", value)

static void by_admin(struct device *dev)
{
	STR_COPY(dev->intent.claim, "admin");
}

static void with_pod(struct device *dev)
{
	STR_COPY(dev->intent.allocated, "default/vm-1/compute");
}

static void nobody(struct device *dev)
{
	dev->facts.holder[0] = dev->intent.allocated[0] = '\0';
}

static void coming(struct device *dev)
{
	STR_COPY(dev->intended, "carol");
}

static void with_params(struct device *dev)
{
	STR_COPY(dev->intent.vgpu_params, "a=1");
}

static void half_done(struct device *dev)
{
	STR_COPY(dev->stuck, "an operation was interrupted");
}

DEFINE_TEST(a_vf_becomes_a_vgpu_by_name_or_id)
{
	struct world_fake w = card();

	CHECK_STR(PLAN_OF("NVIDIA A2-4Q"), "1 " VF0 " profile NVIDIA A2-4Q\n");
	CHECK_STR(PLAN_OF("747"), "1 " VF0 " profile NVIDIA A2-4Q\n");
	CHECK_STR(PLAN_OF("A2-4Q"), "1 " VF0 " profile NVIDIA A2-4Q\n");
	CHECK_STR(PLAN_OF(""), "nothing to do\n");
	CHECK_IN(plan_of(&w, GPU, "profile", "NVIDIA A2-4Q"),
		 "EOPNOTSUPP: " GPU " makes vGPUs of its VFs; write to that file of a VF");
	fake_edit(&w, VF0, with_params);
	CHECK_STR(PLAN_OF("NVIDIA A2-4Q"),
		  "1 " VF0 " profile NVIDIA A2-4Q\n2 " VF0 " vgpu_params a=1\n");
	/* Of an operation that was interrupted between the two the rest is done. */
	becomes(&w, VF0, "747\n", "ID : vGPU Name\n");
	CHECK_STR(PLAN_OF("NVIDIA A2-4Q"), "1 " VF0 " vgpu_params a=1\n");
	fake_edit(&w, VF0, fake_by_qemu);
	CHECK_STR(PLAN_OF("NVIDIA A2-4Q"), "nothing to do\n");
	fake_close(&w);
}

DEFINE_TEST(one_vgpu_becomes_another_or_none)
{
	struct world_fake w = card();

	becomes(&w, VF0, "747\n", "ID : vGPU Name\n");
	CHECK_STR(PLAN_OF("NVIDIA A2-4Q"), "nothing to do\n");
	CHECK_STR(PLAN_OF("747"), "nothing to do\n");
	CHECK_STR(PLAN_OF("A2-4Q"), "nothing to do\n");
	CHECK_STR(PLAN_OF("NVIDIA A2-8Q"),
		  "1 " VF0 " profile none\n2 " VF0 " profile NVIDIA A2-8Q\n");
	CHECK_STR(PLAN_OF(""), "1 " VF0 " profile none\n");
	/* Of one that was left half done nobody knows whether it works. */
	fake_edit(&w, VF0, half_done);
	CHECK_STR(PLAN_OF("NVIDIA A2-4Q"),
		  "1 " VF0 " profile none\n2 " VF0 " profile NVIDIA A2-4Q\n");
	fake_close(&w);
}

/* All that end do so before the first one is made, whatever the order of the lines. */
DEFINE_TEST(a_card_is_carved_anew)
{
	struct world_fake w = card();
	struct request both[] = { fake_request(VF0, 0, "profile", "NVIDIA A2-4Q"),
				  fake_request(VF1, 0, "profile", "NVIDIA A2-4Q") };

	fake_attr(VF1, "nvidia/creatable_vgpu_types", "748 : NVIDIA A2-8Q\n");
	becomes(&w, VF0, "748\n", "ID : vGPU Name\n");
	fake_edit(&w, VF0, with_params);
	fake_attr(VF1, "nvidia/vgpu_params", "b=2\n"); /* somebody else has made it */
	becomes(&w, VF1, "748\n", "ID : vGPU Name\n");
	CHECK_STR(fake_plan(&w, both, 2, false),
		  "1 " VF0 " profile none\n2 " VF1 " vgpu_params none\n3 " VF1 " profile none\n"
		  "4 " VF0 " profile NVIDIA A2-4Q\n5 " VF0 " vgpu_params a=1\n"
		  "6 " VF1 " profile NVIDIA A2-4Q\n7 " VF1 " vgpu_params b=2\n");
	fake_close(&w);
}

DEFINE_TEST(a_type_that_is_not_there_is_refused_with_those_that_are)
{
	struct world_fake w = card();

	CHECK_STR(PLAN_OF("NVIDIA A2-16Q"),
		  "EINVAL: " VF0 " has no vGPU type \"NVIDIA A2-16Q\"; possible now: NVIDIA A2-2Q, "
		  "NVIDIA A2-4Q, NVIDIA A2-8Q, 801, 802; all are in its profiles");
	CHECK_IN(PLAN_OF("NVIDIA A2"), "EINVAL: " VF0 " has no vGPU type \"NVIDIA A2\"");
	CHECK_IN(PLAN_OF("nvidia a2-4q"), "EINVAL: ");
	CHECK_IN(PLAN_OF("74"), "EINVAL: " VF0 " has no vGPU type \"74\"");
	CHECK_IN(PLAN_OF("NVIDIA A2-4Q "), "EINVAL: ");
	fake_close(&w);
}

DEFINE_TEST(a_vgpu_is_told_what_it_can_become_in_its_place)
{
	struct world_fake w = card();
	const char *all = "EINVAL: " VF0 " has no vGPU type \"no such\"; possible in place of what it "
			  "is: NVIDIA A2-2Q, NVIDIA A2-4Q, NVIDIA A2-8Q, 801, 802; all are in its "
			  "profiles";

	becomes(&w, VF0, "747\n", "ID : vGPU Name\n");
	becomes(&w, VF1, "0\n", "ID : vGPU Name\n747 : NVIDIA A2-4Q\n");
	CHECK_STR(PLAN_OF("no such"), all); /* it is the only one */
	becomes(&w, VF1, "747\n", "ID : vGPU Name\n");
	CHECK_STR(PLAN_OF("no such"),
		  "EINVAL: " VF0 " has no vGPU type \"no such\"; possible in place of what it is: "
		  "NVIDIA A2-4Q; all are in its profiles");
	fake_close(&w);
}

DEFINE_TEST(of_two_types_with_one_name_the_id_decides)
{
	struct world_fake w = card();

	CHECK_STR(PLAN_OF("twin"), "EINVAL: " VF0 " has two vGPU types called \"twin\"; write the "
				   "id of one, from its profiles");
	CHECK_STR(PLAN_OF("801"), "1 " VF0 " profile 801\n");
	CHECK_STR(PLAN_OF("802"), "1 " VF0 " profile 802\n");
	becomes(&w, VF0, "802\n", "ID : vGPU Name\n");
	CHECK_STR(PLAN_OF("802"), "nothing to do\n");
	CHECK_STR(PLAN_OF("801"), "1 " VF0 " profile none\n2 " VF0 " profile 801\n");
	fake_close(&w);
}

DEFINE_TEST(a_full_card_says_who_fills_it)
{
	struct world_fake w = card();

	becomes(&w, VF1, "748\n", "ID : vGPU Name\n");
	becomes(&w, VF0, "0\n", "ID : vGPU Name\n748 : NVIDIA A2-8Q\n");
	CHECK_STR(PLAN_OF("NVIDIA A2-4Q"),
		  "ENOSPC: " VF0 " cannot become NVIDIA A2-4Q: all vGPUs of a card have one size, "
		  "and " VF1 " is NVIDIA A2-8Q; possible now: NVIDIA A2-8Q");
	CHECK_STR(PLAN_OF("NVIDIA A2-8Q"), "1 " VF0 " profile NVIDIA A2-8Q\n");
	becomes(&w, VF0, "0\n", "ID : vGPU Name\n");
	CHECK_STR(PLAN_OF("NVIDIA A2-8Q"),
		  "ENOSPC: " VF0 " cannot become NVIDIA A2-8Q: 1 vGPU uses 8192 of 8192 MiB; "
		  "possible now: none");
	fake_close(&w);
}

/* What another request of the transaction frees is known to the kernel alone. */
DEFINE_TEST(room_that_a_sibling_makes_counts)
{
	struct world_fake w = card();
	struct request both[] = { fake_request(VF1, 0, "profile", ""),
				  fake_request(VF0, 0, "profile", "NVIDIA A2-8Q") };

	becomes(&w, VF1, "748\n", "ID : vGPU Name\n");
	becomes(&w, VF0, "0\n", "ID : vGPU Name\n");
	CHECK_STR(fake_plan(&w, both, 2, false),
		  "1 " VF1 " profile none\n2 " VF0 " profile NVIDIA A2-8Q\n");
	fake_close(&w);
}

DEFINE_TEST(a_card_that_lists_nothing_says_where_to_look)
{
	struct world_fake w = fake_vgpu_card("ID : vGPU Name\n");

	CHECK_STR(PLAN_OF("NVIDIA A2-4Q"),
		  "EOPNOTSUPP: " VF0
		  " offers no vGPU types now: its driver is nvidia; vgpu_support "
		  "of " GPU " says why");
	fake_close(&w);
}

static void awaited(struct device *dev)
{
	STR_COPY(dev->unmet, "its card has no room for it");
}

static void idle(struct device *dev)
{
	STR_COPY(dev->facts.vgpu_idle, "no: its VFs list no vGPU types, start something");
}

static bool is_idle(struct world_fake *w)
{
	struct key key = fake_key(GPU);
	bool is;

	model_lock(w->model);
	is = model_find(w->model, &key)->facts.vgpu_idle[0];
	model_unlock(w->model);
	return is;
}

static bool has_types(struct world_fake *w, const char *vf)
{
	struct key key = fake_key(vf);
	bool can;

	model_lock(w->model);
	can = types_any(w->model, model_find(w->model, &key));
	model_unlock(w->model);
	return can;
}

/* The daemon that tells the driver its types comes after the driver: no event tells of it. */
DEFINE_TEST(a_vf_whose_types_are_awaited_is_looked_at_each_time)
{
	struct world_fake w = card();

	becomes(&w, VF0, "0\n", "");
	becomes(&w, VF1, "0\n", "");
	CHECK_STR(PLAN_OF("NVIDIA A2-4Q"), "ENOSPC: " VF0 " cannot become NVIDIA A2-4Q: its driver lists "
					   "no vGPU types now, see vgpu_support of " GPU
					   "; possible now: none");
	fake_attr(VF0, "nvidia/creatable_vgpu_types", LIST);
	CHECK(!ask_now(w.backend, &ask_awaited, NULL, 0, 0, NULL));
	CHECK(!has_types(&w, VF0));
	fake_edit(&w, GPU, idle);
	fake_edit(&w, VF0, awaited);
	fake_attr(VF1, "nvidia/creatable_vgpu_types", LIST);
	CHECK(!ask_now(w.backend, &ask_awaited, NULL, 0, 0, NULL));
	CHECK(has_types(&w, VF0));
	CHECK(!is_idle(&w));
	CHECK(!has_types(&w, VF1)); /* nothing of it is stored: its turn comes later */
	CHECK(!ask_now(w.backend, &ask_vgpus, NULL, 0, 0, NULL));
	CHECK(has_types(&w, VF1));
	fake_close(&w);
}

DEFINE_TEST(whoever_has_a_vgpu_keeps_it)
{
	struct world_fake w = card();

	becomes(&w, VF0, "747\n", "ID : vGPU Name\n");
	fake_edit(&w, VF0, fake_by_qemu);
	CHECK_STR(PLAN_OF("NVIDIA A2-4Q"), "nothing to do\n");
	CHECK_IN(PLAN_OF("NVIDIA A2-8Q"), "EBUSY: " VF0 " is held by qemu kvm (pid 812)");
	CHECK_IN(PLAN_OF(""), "EBUSY: " VF0 " is held by qemu kvm (pid 812)");
	CHECK_IN(plan_of(&w, VF0, "vgpu_params", "a=1"), "EBUSY: " VF0 " is held by");
	CHECK_IN(plan_of(&w, GPU, "sriov_numvfs", "0"),
		 "EBUSY: virtfn0 of " GPU ": " VF0 " is held by qemu kvm (pid 812)");
	fake_edit(&w, VF0, nobody);
	fake_edit(&w, VF0, by_admin);
	fake_edit(&w, VF0, with_pod);
	CHECK_IN(PLAN_OF("NVIDIA A2-8Q"), "EBUSY: " VF0 " is allocated to default/vm-1/compute");
	CHECK_IN(PLAN_OF(""), "EBUSY: " VF0 " is allocated to default/vm-1/compute");
	CHECK_IN(plan_of(&w, GPU, "sriov_numvfs", "0"), "EBUSY: virtfn0 of " GPU ": " VF0);
	fake_edit(&w, VF0, nobody);
	CHECK_STR(plan_of(&w, GPU, "sriov_numvfs", "0"),
		  "1 " VF0 " profile none\n2 " GPU " sriov-manage 0\n");
	fake_close(&w);
}

DEFINE_TEST(a_claim_that_is_coming_back_is_not_overtaken)
{
	struct world_fake w = card();
	struct request stored = fake_request(VF0, 0, "profile", "NVIDIA A2-4Q");

	fake_edit(&w, VF0, coming);
	CHECK_IN(PLAN_OF("NVIDIA A2-8Q"), "EBUSY: " VF0);
	CHECK_IN(PLAN_OF("NVIDIA A2-8Q"), "carol");
	stored.restores = true;
	CHECK_STR(fake_plan(&w, &stored, 1, false), "1 " VF0 " profile NVIDIA A2-4Q\n");
	/* Whoever asks for what is there anyway gets in nobody's way. */
	CHECK_STR(PLAN_OF(""), "nothing to do\n");
	fake_close(&w);
}

/* ---- its claim */

DEFINE_TEST(a_vgpu_is_claimed_without_a_step)
{
	struct world_fake w = card();
	struct request both[] = { fake_request(VF0, 0, "claim", "alice"),
				  fake_request(VF0, 0, "profile", "NVIDIA A2-4Q") };

	CHECK_IN(plan_of(&w, VF0, "claim", "alice"), "EOPNOTSUPP: " VF0 " is not a vGPU yet: write");
	CHECK_STR(plan_of(&w, VF0, "claim", ""), "nothing to do\n");
	CHECK_STR(fake_plan(&w, both, 2, false), "1 " VF0 " profile NVIDIA A2-4Q\n");
	becomes(&w, VF0, "747\n", "ID : vGPU Name\n");
	/* One that others have made is adopted; while it runs, too. */
	CHECK_STR(plan_of(&w, VF0, "claim", "alice"), "nothing to do\n");
	fake_edit(&w, VF0, fake_by_qemu);
	CHECK_STR(plan_of(&w, VF0, "claim", "alice"), "nothing to do\n");
	fake_edit(&w, VF0, nobody);
	/* The profile's write has named it, for want of another name. */
	fake_edit(&w, VF0, by_admin);
	CHECK_STR(plan_of(&w, VF0, "claim", "alice"), "nothing to do\n");
	fake_edit(&w, VF0, fake_by_alice);
	CHECK_STR(plan_of(&w, VF0, "claim", "alice"), "nothing to do\n");
	CHECK_STR(plan_of(&w, VF0, "claim", "bob"), "nothing to do\n");
	fake_edit(&w, VF0, with_pod);
	CHECK_IN(plan_of(&w, VF0, "claim", "bob"), "EBUSY: " VF0 " is allocated to default/vm-1");
	fake_edit(&w, VF0, nobody);
	fake_edit(&w, VF0, fake_by_qemu);
	CHECK_IN(plan_of(&w, VF0, "claim", "bob"), "EBUSY: " VF0 " is held by qemu");
	fake_edit(&w, VF0, nobody);
	CHECK_STR(plan_of(&w, VF0, "claim", ""),
		  "EINVAL: " VF0
		  " is a vGPU, which is claimed as long as it is one; write none to its "
		  "profile");
	fake_close(&w);
}

DEFINE_TEST(a_vgpu_that_ends_is_not_claimed)
{
	struct world_fake w = card();
	struct request both[] = { fake_request(VF0, 0, "profile", ""),
				  fake_request(VF0, 0, "claim", "alice") };

	becomes(&w, VF0, "747\n", "ID : vGPU Name\n");
	CHECK_IN(fake_plan(&w, both, 2, false), "EOPNOTSUPP: " VF0 " is not a vGPU yet");
	fake_close(&w);
}

static int newcomer(struct world_fake *w, struct err *err)
{
	struct key key = fake_key(VF0);
	int rc;

	*err = (struct err){ 0 };
	model_lock(w->model);
	rc = vgpu_claim.refuse(w->model, model_find(w->model, &key), err);
	model_unlock(w->model);
	return rc;
}

DEFINE_TEST(what_a_newcomer_is_told_of_a_vgpu)
{
	struct world_fake w = card();
	struct err err;

	CHECK_EQ(newcomer(&w, &err), -EOPNOTSUPP);
	CHECK_IN(err.text, VF0 " is not a vGPU yet: write a name from profiles to profile");
	becomes(&w, VF0, "747\n", "ID : vGPU Name\n");
	CHECK_EQ(newcomer(&w, &err), 0);
	fake_edit(&w, VF0, by_admin);
	CHECK_EQ(newcomer(&w, &err), 0);
	fake_edit(&w, VF0, fake_by_alice);
	CHECK_EQ(newcomer(&w, &err), 0);
	fake_edit(&w, VF0, fake_by_qemu);
	CHECK_EQ(newcomer(&w, &err), -EBUSY);
	CHECK_IN(err.text, VF0 " is held by qemu");
	fake_close(&w);
}

/* ---- parameters */

DEFINE_TEST(parameters_are_those_of_a_vgpu)
{
	struct world_fake w = card();
	struct request both[] = { fake_request(VF0, 0, "vgpu_params", "b=2"),
				  fake_request(VF0, 0, "profile", "NVIDIA A2-4Q") };

	CHECK_IN(plan_of(&w, VF0, "vgpu_params", "a=1"),
		 "EOPNOTSUPP: " VF0 " is not a vGPU, and has no parameters");
	CHECK_STR(plan_of(&w, VF0, "vgpu_params", ""), "nothing to do\n");
	CHECK_STR(fake_plan(&w, both, 2, false),
		  "1 " VF0 " profile NVIDIA A2-4Q\n2 " VF0 " vgpu_params b=2\n");
	/* What is asked now goes before what is stored. */
	fake_edit(&w, VF0, with_params);
	CHECK_STR(fake_plan(&w, both, 2, false),
		  "1 " VF0 " profile NVIDIA A2-4Q\n2 " VF0 " vgpu_params b=2\n");
	STR_COPY(both[1].value, "");
	CHECK_IN(fake_plan(&w, both, 2, false), "EOPNOTSUPP: " VF0 " is not a vGPU");
	fake_attr(VF0, "nvidia/vgpu_params", "a=1\n");
	becomes(&w, VF0, "747\n", "ID : vGPU Name\n");
	CHECK_STR(plan_of(&w, VF0, "vgpu_params", "a=1"), "nothing to do\n");
	CHECK_STR(plan_of(&w, VF0, "vgpu_params", "a=2"), "1 " VF0 " vgpu_params a=2\n");
	CHECK_STR(plan_of(&w, VF0, "vgpu_params", ""), "1 " VF0 " vgpu_params none\n");
	fake_close(&w);
}

/* ---- its card */

static void no_vfs(struct device *dev)
{
	dev->facts.num_vfs = 0;
}

DEFINE_TEST(the_drivers_own_tool_makes_a_gpus_vfs)
{
	struct world_fake w = card();
	static const char *const some[] = { "1", "15" };
	struct request all[] = { fake_request(GPU, 0, "sriov_numvfs", "16"),
				 fake_request(GPU, 1, "profile", "NVIDIA A2-4Q"),
				 fake_request(GPU, 1, "claim", "alice"),
				 fake_request(GPU, 1, "vgpu_params", "a=1") };
	struct request two[] = { all[0], fake_request(GPU, 1, "profile", "NVIDIA A2-8Q"),
				 fake_request(GPU, 2, "profile", "NVIDIA A2-8Q") };

	CHECK_STR(plan_of(&w, GPU, "sriov_numvfs", "0"), "1 " GPU " sriov-manage 0\n");
	fake_edit(&w, GPU, no_vfs);
	CHECK_STR(plan_of(&w, GPU, "sriov_numvfs", "16"), "1 " GPU " sriov-manage 16\n");
	for (size_t i = 0; i < ARRAY_SIZE(some); i++)
		CHECK_STR(plan_of(&w, GPU, "sriov_numvfs", some[i]),
			  "EOPNOTSUPP: the driver of " GPU
			  " makes its VFs itself, all 16 of them; write 1 to enabled");
	fake_remove(VF0);
	fake_remove(VF1);
	CHECK_EQ(backend_scan(w.backend, NULL), 0);
	fake_edit(&w, GPU, no_vfs);
	CHECK_STR(fake_plan(&w, all, 4, true),
		  "1 " GPU " sriov-manage 16\n"
		  "2 " GPU "/virtfn0 profile NVIDIA A2-4Q (expected)\n"
		  "3 " GPU "/virtfn0 vgpu_params a=1 (expected)\nmore\n");
	CHECK_STR(fake_plan(&w, two, 3, true),
		  "ENOSPC: " GPU "/virtfn1 cannot become NVIDIA A2-8Q: 1 vGPU uses 8192 of 8192 MiB; "
		  "possible now: 801, 802");
	fake_edit(&w, GPU, fake_to_none);
	CHECK_IN(plan_of(&w, GPU, "sriov_numvfs", "16"), "EOPNOTSUPP: " GPU " has no driver");
	fake_close(&w);
}
