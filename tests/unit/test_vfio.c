// SPDX-License-Identifier: GPL-2.0-or-later
#include "fakegroup.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/pci/reserved.h"
#include "backend/use.h"

DEFINE_TEST(claim_plans_the_whole_group)
{
	struct world_fake w = server();
	const char *steps = "1 " GPU " driver_override vfio-pci\n"
			    "2 " GPU " unbind nvidia\n"
			    "3 " GPU " bind vfio-pci\n"
			    "4 " AUDIO " driver_override vfio-pci\n"
			    "5 " AUDIO " bind vfio-pci\n";

	CHECK_IN(plan_of(&w, GPU, "alice", false), steps);
	CHECK_IN(plan_of(&w, GPU, "alice", false), "6 " GPU " node /dev/vfio/41\n");
	CHECK_IN(plan_of(&w, AUDIO, "alice", false), steps);
	fake_close(&w);
}

DEFINE_TEST(claim_is_refused_with_the_cause)
{
	struct world_fake w = server();

	CHECK_IN(plan_of(&w, BRIDGE, "alice", false), "EOPNOTSUPP: ");
	CHECK_IN(plan_of(&w, LONE, "alice", false), "EOPNOTSUPP: " LONE " is in no IOMMU group");
	CHECK_IN(plan_of(&w, PF, "alice", false),
		 "EBUSY: " PF " has 1 VFs; write 0 to its sriov_numvfs");
	fake_edit(&w, PF, to_vfio);
	CHECK_IN(plan_of(&w, VF, "alice", false),
		 "EOPNOTSUPP: " VF " is a VF of " PF ", which is on vfio-pci");
	fake_edit(&w, AUDIO, fake_by_qemu);
	CHECK_IN(plan_of(&w, GPU, "alice", false),
		 "EBUSY: " GPU " shares IOMMU group 41 with " AUDIO ": " AUDIO
		 " is held by qemu kvm (pid 812)");
	fake_edit(&w, GPU, by_persistenced);
	CHECK_IN(plan_of(&w, GPU, "alice", false),
		 "EBUSY: " GPU " is held by nvidia-persiste (pid 7); stop it and write again");
	fake_edit(&w, AUDIO, by_root);
	CHECK_IN(plan_of(&w, AUDIO, "alice", false),
		 "EPERM: the host needs " AUDIO ": disk nvme0n1p2");
	CHECK_IN(plan_of(&w, AUDIO, "alice", true), "EBUSY: ");
	model_lock(w.model);
	model_set_iommu(w.model, false);
	model_publish(w.model);
	model_unlock(w.model);
	CHECK_IN(plan_of(&w, GPU, "alice", false), "EOPNOTSUPP: this host has no IOMMU; turn on");
	fake_close(&w);
}

/* The kernel attaches such a group to no guest, whoever forces the claim. */
DEFINE_TEST(claim_of_memory_that_the_firmware_reserves)
{
	struct world_fake w = server();
	struct err err = { 0 };

	test_file("sys/kernel/iommu_groups/41/reserved_regions",
		  "0x00000000791a0000 0x00000000791affff direct\n");
	CHECK_EQ(ask_now(w.backend, &ask_reserved, NULL, 0, 0, &err), 0);
	for (int force = 0; force < 2; force++)
		CHECK_IN(plan_of(&w, AUDIO, "alice", force),
			 "EOPNOTSUPP: the firmware reserves memory for IOMMU group 41 of " AUDIO
			 " (RMRR or IVMD), so the kernel gives it to no guest; in the firmware, turn off ");
	claimed(&w);
	CHECK_STR(plan_of(&w, GPU, "alice", false), "nothing to do\n");
	CHECK_IN(plan_of(&w, GPU, "", false), "1 " GPU " unbind vfio-pci\n");
	fake_close(&w);
}

static void behind_gpu(struct device *dev)
{
	dev->facts.behind = fake_key(GPU);
}

/* As VMD is: its driver makes the functions of a domain behind it, mostly in its own group. */
DEFINE_TEST(claim_of_a_controller_leaves_out_what_is_behind_it)
{
	struct world_fake w = server();

	fake_edit(&w, AUDIO, behind_gpu);
	CHECK_STR(plan_of(&w, AUDIO, "alice", true),
		  "EOPNOTSUPP: " AUDIO " is behind VMD " GPU
		  "; turn VMD off in the firmware, or claim that controller");
	CHECK_STR(plan_of(&w, GPU, "alice", false), "1 " GPU " driver_override vfio-pci\n"
						    "2 " GPU " unbind nvidia\n"
						    "3 " GPU " bind vfio-pci\n"
						    "4 " GPU " node /dev/vfio/41\n");
	fake_edit(&w, AUDIO, fake_by_alice);
	CHECK_IN(plan_of(&w, GPU, "bob", false),
		 "EBUSY: " GPU " carries " AUDIO ", which is claimed by alice; write none");
	fake_close(&w);
}

static void shared_by_three(struct device *dev)
{
	fake_split(dev);
	dev->facts.mdevs = 3;
}

static void as_vgpu(struct device *dev)
{
	STR_COPY(dev->facts.profile_id, "745");
	STR_COPY(dev->facts.profile, "NVIDIA A2-4Q");
}

/* The driver would take them down, or wait for their guests. */
DEFINE_TEST(claim_takes_no_function_that_is_split)
{
	struct world_fake w = server();
	struct key key = fake_key(GPU);
	struct err err = { 0 };

	fake_edit(&w, GPU, fake_split);
	for (int force = 0; force < 2; force++)
		CHECK_IN(plan_of(&w, GPU, "alice", force),
			 "EBUSY: " GPU " is the parent of mediated device " FAKE_UUID
			 "; write none to profile in mdevs/" FAKE_UUID);
	CHECK_IN(plan_of(&w, AUDIO, "alice", false),
		 "EBUSY: " AUDIO " shares IOMMU group 41 with " GPU ": " GPU
		 " is the parent of mediated device " FAKE_UUID "; write none");
	fake_edit(&w, GPU, shared_by_three);
	CHECK_IN(plan_of(&w, GPU, "alice", false), FAKE_UUID " and 2 more; write none");
	/* Right before the step. */
	model_lock(w.model);
	CHECK_EQ(refuse_taken_away(model_find(w.model, &key), true, &err), -EBUSY);
	model_unlock(w.model);
	fake_edit(&w, GPU, fake_whole);
	CHECK_IN(plan_of(&w, GPU, "alice", false), "1 " GPU " driver_override vfio-pci\n");
	fake_edit(&w, GPU, as_vgpu);
	CHECK_IN(plan_of(&w, GPU, "alice", true),
		 "EBUSY: " GPU " is a vGPU, NVIDIA A2-4Q; write none to its profile first");
	fake_close(&w);
}

/* A function of unknown class may be a bridge, to be left alone, or something the host runs on. */
DEFINE_TEST(claim_of_a_group_that_cannot_be_told_is_refused)
{
	const char *doubt =
		"sysfs holds invalid data for " BRIDGE " (class holds \"junk\"); ";
	struct world_fake w = server();
	struct err err = { 0 };

	fake_attr(BRIDGE, "class", "junk\n");
	CHECK_EQ(backend_scan(w.backend, &err), 0);
	for (int force = 0; force < 2; force++) {
		CHECK_IN(plan_of(&w, GPU, "alice", force),
			 "EOPNOTSUPP: " GPU " shares IOMMU group 41 with " BRIDGE ": ");
		CHECK_IN(plan_of(&w, GPU, "alice", force), doubt);
		CHECK_IN(plan_of(&w, BRIDGE, "alice", force), doubt);
	}
	fake_attr(BRIDGE, "class", "0x060400\n");
	CHECK_EQ(backend_scan(w.backend, &err), 0);
	CHECK_IN(plan_of(&w, GPU, "alice", false), "1 " GPU " driver_override vfio-pci\n");
	claimed(&w);
	fake_attr(GPU, "class", "junk\n");
	CHECK_EQ(backend_scan(w.backend, &err), 0);
	fake_edit(&w, GPU, to_vfio);
	fake_edit(&w, AUDIO, to_vfio);
	CHECK_IN(plan_of(&w, GPU, "", false), "1 " GPU " unbind vfio-pci\n");
	fake_close(&w);
}

DEFINE_TEST(claim_keeps_the_hosts_group)
{
	struct world_fake w = server();

	fake_edit(&w, AUDIO, by_root);
	CHECK_IN(
		plan_of(&w, GPU, "alice", false),
		"EPERM: " GPU " shares IOMMU group 41 with " AUDIO
		", which the host needs: disk nvme0n1p2 is mounted on /; the group stays with the host "
		"unless ctl has a line \"force " GPU "\"");
	CHECK_IN(plan_of(&w, GPU, "alice", true), "1 " GPU " driver_override vfio-pci\n");
	fake_close(&w);
}

DEFINE_TEST(claim_that_holds_is_nothing_to_do)
{
	struct world_fake w = server();

	claimed(&w);
	fake_edit(&w, GPU, fake_by_qemu);
	CHECK_STR(plan_of(&w, GPU, "alice", false), "nothing to do\n");
	CHECK_IN(
		plan_of(&w, AUDIO, "bob", false),
		"EBUSY: " AUDIO " shares IOMMU group 41 with " GPU ": " GPU
		" is claimed by alice and held by qemu kvm (pid 812); end that process first, then write "
		"none to its claim");
	/* Drift: one member lost its driver. */
	fake_edit(&w, AUDIO, fake_to_none);
	CHECK_STR(plan_of(&w, GPU, "alice", false), "1 " AUDIO " driver_override vfio-pci\n"
						    "2 " AUDIO " bind vfio-pci\n"
						    "3 " GPU " node /dev/vfio/41\n");
	fake_close(&w);
}

static void to_pod(struct device *dev)
{
	STR_COPY(dev->intent.allocated, "default/vm-1/compute");
}

static void to_longest(struct device *dev)
{
	memset(dev->intent.allocated, 'p', sizeof(dev->intent.allocated) - 1);
}

/* To write none to its claim would be refused for the pod's sake. */
DEFINE_TEST(claim_of_anothers_in_use_names_the_user)
{
	struct world_fake w = server();

	claimed(&w);
	CHECK_IN(plan_of(&w, AUDIO, "bob", false),
		 " is claimed by alice; write none to its claim first");
	fake_edit(&w, AUDIO, to_pod);
	CHECK_IN(plan_of(&w, AUDIO, "bob", false),
		 "EBUSY: " AUDIO " is claimed by alice and allocated to default/vm-1/compute; end "
		 "that pod first, then write none to its claim");
	/* A claim is the group's, and so is its release. */
	CHECK_IN(plan_of(&w, GPU, "bob", false),
		 "EBUSY: " GPU " shares IOMMU group 41 with " AUDIO ": " AUDIO
		 " is claimed by alice and allocated to default/vm-1/compute; end that pod first");
	fake_edit(&w, AUDIO, to_longest);
	CHECK_IN(plan_of(&w, GPU, "bob", false),
		 "ppp; end that pod first, then write none to its claim");
	CHECK_IN(plan_of(&w, GPU, "", false), "ppp; end that pod first");
	fake_close(&w);
}

DEFINE_TEST(claim_adopts_what_is_on_vfio)
{
	struct world_fake w = server();
	struct err err = { 0 };

	fake_edit(&w, GPU, to_vfio);
	fake_edit(&w, AUDIO, to_vfio);
	CHECK_STR(plan_of(&w, GPU, "", false), "nothing to do\n");
	CHECK_STR(plan_of(&w, GPU, "alice", false), "1 " GPU " driver_override vfio-pci\n"
						    "2 " AUDIO " driver_override vfio-pci\n"
						    "3 " GPU " node /dev/vfio/41\n");
	CHECK_EQ(call(&w, claim_of(&w)->prepare, GPU, "alice", &err), 0);
	CHECK_EQ(call(&w, claim_of(&w)->settle, GPU, "alice", &err), 0);
	CHECK_STR(want_of(&w, AUDIO).claim, "alice");
	CHECK(!want_of(&w, GPU).former_known);
	/* Nobody knows what it had: the kernel chooses. */
	CHECK_STR(plan_of(&w, GPU, "", false), "1 " GPU " unbind vfio-pci\n"
					       "2 " GPU " driver_override none\n"
					       "3 " GPU " drivers_probe none\n"
					       "4 " AUDIO " unbind vfio-pci\n"
					       "5 " AUDIO " driver_override none\n"
					       "6 " AUDIO " drivers_probe none\n");
	fake_close(&w);
}

/* A guest ran while nobody served: what is stored is claimed again below it. */
DEFINE_TEST(claim_is_restored_below_a_guest)
{
	struct world_fake w = server();
	struct request stored = request_of(GPU, "alice", false);

	stored.restores = true;
	fake_edit(&w, GPU, to_vfio);
	fake_edit(&w, AUDIO, to_vfio);
	fake_edit(&w, AUDIO, fake_by_qemu);
	CHECK_IN(plan_of(&w, GPU, "alice", false), "EBUSY: ");
	CHECK_STR(fake_plan(&w, &stored, 1, false), "1 " GPU " driver_override vfio-pci\n"
						    "2 " AUDIO " driver_override vfio-pci\n"
						    "3 " GPU " node /dev/vfio/41\n");
	fake_edit(&w, AUDIO, fake_to_none); /* which no guest has */
	CHECK_IN(fake_plan(&w, &stored, 1, false), "EBUSY: ");
	fake_close(&w);
}

/* The end waits for no device: a hanging write of the override is abandoned, and nothing here is
 * used. */
DEFINE_TEST(lift_waits_for_no_device)
{
	struct world_fake w = server();
	struct key gpu = fake_key(GPU);
	char path[300], text[16] = "";
	int fd;

	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/" GPU "/driver_override", test_dir());
	unlink(path);
	CHECK_EQ(mkfifo(path, 0600), 0);
	CHECK_EQ(backend_lift(w.backend, &gpu, "", 30), -ETIMEDOUT);
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0 && read(fd, text, sizeof(text) - 1) == 1);
	CHECK_STR(text, "\n");
	close(fd);
	fake_close(&w);
}

DEFINE_TEST(claim_remembers_and_release_restores)
{
	struct world_fake w = server();
	struct err err = { 0 };
	const struct method *claim = claim_of(&w);

	CHECK_EQ(call(&w, claim->prepare, GPU, "alice", &err), 0);
	CHECK_STR(former_of(want_of(&w, GPU), "driver"), "nvidia");
	CHECK(want_of(&w, AUDIO).former_known);
	/* As after a crash between the steps: what is remembered stays. */
	fake_edit(&w, GPU, fake_to_none);
	CHECK_EQ(call(&w, claim->prepare, GPU, "alice", &err), 0);
	CHECK_STR(former_of(want_of(&w, GPU), "driver"), "nvidia");
	/* Nothing is believed that the kernel does not hold. */
	CHECK_EQ(call(&w, claim->settle, GPU, "alice", &err), -EIO);
	CHECK_IN(err.text, GPU " is on no driver and not on vfio-pci");
	CHECK_STR(want_of(&w, GPU).claim, "");
	fake_edit(&w, GPU, to_vfio);
	fake_edit(&w, AUDIO, to_vfio);
	CHECK_EQ(call(&w, claim->settle, GPU, "alice", &err), 0);
	CHECK_STR(want_of(&w, GPU).claim, "alice");
	CHECK_STR(want_of(&w, AUDIO).claim, "alice");
	CHECK_STR(want_of(&w, BRIDGE).claim, "");
	CHECK_STR(plan_of(&w, AUDIO, "", false), "1 " GPU " unbind vfio-pci\n"
						 "2 " GPU " driver_override none\n"
						 "3 " GPU " rebind nvidia\n"
						 "4 " AUDIO " unbind vfio-pci\n"
						 "5 " AUDIO " driver_override none\n");
	CHECK_EQ(call(&w, claim->settle, AUDIO, "", &err), -EIO);
	fake_edit(&w, GPU, fake_to_none);
	fake_edit(&w, AUDIO, fake_to_none);
	CHECK_EQ(call(&w, claim->settle, AUDIO, "", &err), 0);
	CHECK_STR(want_of(&w, GPU).claim, "");
	CHECK(!want_of(&w, GPU).former_known);
	fake_close(&w);
}

DEFINE_TEST(release_is_refused_while_held)
{
	struct world_fake w = server();

	claimed(&w);
	fake_edit(&w, AUDIO, fake_by_qemu);
	CHECK_IN(plan_of(&w, AUDIO, "", false), "EBUSY: " AUDIO " is held by qemu kvm (pid 812)");
	fake_close(&w);
}

DEFINE_TEST(release_gives_a_vf_back_by_override)
{
	struct world_fake w = server();

	fake_edit(&w, VF, to_vfio);
	fake_edit(&w, VF, fake_by_alice);
	fake_edit(&w, VF, from_igbvf);
	CHECK_STR(plan_of(&w, VF, "", false), "1 " VF " unbind vfio-pci\n"
					      "2 " VF " driver_override none\n"
					      "3 " VF " driver_override igbvf\n"
					      "4 " VF " rebind igbvf\n"
					      "5 " VF " driver_override none\n");
	fake_close(&w);
}
