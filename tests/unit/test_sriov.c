// SPDX-License-Identifier: GPL-2.0-or-later
#include "facts.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include "backend/internal.h"
#include "backend/pci/serials.h"
#include "fakepci.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/util.h"

#define PF "0000:02:00.0"
#define VF0 "0000:02:10.0"
#define VF1 "0000:02:10.2"
#define GPU "0000:3b:00.0"
#define PLAIN "0000:04:00.0"

/* A NIC with two of eight VFs, an NVIDIA GPU with SR-IOV, and a function without. */
static struct world_fake server(void)
{
	fake_machine();
	fake_add(&(struct fake){ PF, "0x8086\n", "0x10c9\n", "0x020000\n", "igb", 5 });
	fake_add(&(struct fake){ VF0, "0x8086\n", "0x10ca\n", "0x020000\n", "igbvf", 6 });
	fake_add(&(struct fake){ VF1, "0x8086\n", "0x10ca\n", "0x020000\n", "igbvf", 7 });
	fake_add(&(struct fake){ GPU, "0x10de\n", "0x25b6\n", "0x030200\n", "nvidia", 41 });
	fake_add(&(struct fake){ PLAIN, "0x8086\n", "0x100e\n", "0x020000\n", "e1000", 8 });
	fake_virtfn(PF, 0, VF0);
	fake_virtfn(PF, 1, VF1);
	fake_attr(PF, "sriov_totalvfs", "8\n");
	fake_attr(PF, "sriov_drivers_autoprobe", "1\n");
	fake_attr(GPU, "sriov_totalvfs", "16\n");
	return fake_open();
}

static const char *plan_number(struct world_fake *w, const char *address, const char *value)
{
	struct request request = fake_request(address, 0, "sriov_numvfs", value);

	return fake_plan(w, &request, 1, false);
}

static void to_vfio(struct device *dev)
{
	set_driver(&dev->facts, "vfio-pci");
}

static void by_root(struct device *dev)
{
	STR_COPY(dev->facts.critical, "NIC eth4 is up with a global address");
}

static void with_pod(struct device *dev)
{
	STR_COPY(dev->intent.allocated, "default/vm-1/compute");
}

static void no_vfs(struct device *dev)
{
	dev->facts.num_vfs = 0;
}

static void half_done(struct device *dev)
{
	STR_COPY(dev->stuck, "an act was cut short");
}

static void stored_vf1(struct device *dev)
{
	dev->intent.vf_claims[0] = 2;
}

static void probe_off(struct device *dev)
{
	dev->facts.autoprobe = false;
	dev->intent.autoprobe_off = true;
}

DEFINE_TEST(vfs_follow_the_kernels_rules)
{
	struct world_fake w = server();

	CHECK_STR(plan_number(&w, PF, "2"), "nothing to do\n");
	CHECK_STR(plan_number(&w, PF, "0"), "1 " PF " sriov_numvfs 0\n");
	/* What is made again is planned when the old ones are gone. */
	CHECK_STR(plan_number(&w, PF, "4"), "1 " PF " sriov_numvfs 0\nmore\n");
	fake_edit(&w, PF, no_vfs);
	CHECK_STR(plan_number(&w, PF, "4"), "1 " PF " sriov_numvfs 4\n");
	CHECK_STR(plan_number(&w, PF, "9"), "ERANGE: sriov_numvfs: 9 asked, " PF " has at most 8");
	CHECK_IN(plan_number(&w, PLAIN, "1"),
		 "EOPNOTSUPP: " PLAIN " shows no SR-IOV, so it has no VFs");
	CHECK_IN(plan_number(&w, GPU, "1"),
		 "EOPNOTSUPP: " GPU " makes no VFs for vGPUs");
	fake_close(&w);
}

DEFINE_TEST(vfs_that_were_left_half_done_are_made_anew)
{
	struct world_fake w = server();
	struct request stored = fake_request(PF, 0, "sriov_numvfs", "2");

	stored.restores = true;
	fake_edit(&w, PF, half_done);
	CHECK_STR(plan_number(&w, PF, "2"), "1 " PF " sriov_numvfs 0\nmore\n");
	CHECK_STR(fake_plan(&w, &stored, 1, false), "nothing to do\n");
	fake_edit(&w, VF1, fake_by_alice);
	/* A claim holds them as they are: the rest is done, and nobody has to give up a VF. */
	CHECK_STR(plan_number(&w, PF, "2"), "nothing to do\n");
	fake_edit(&w, PF, no_vfs);
	CHECK_STR(plan_number(&w, PF, "0"), "nothing to do\n");
	fake_close(&w);
}

/* VFs without a function in sysfs: only their number counts. */
static void add_vfs(struct world_fake *w, unsigned int from, unsigned int to)
{
	model_lock(w->model);
	for (unsigned int i = from; i < to; i++) {
		struct key key;
		struct device *vf;
		char name[16];

		snprintf(name, sizeof(name), "0001:%02x:%02x.%x", i / 256, i / 8 % 32, i % 8);
		key = fake_key(name);
		vf = model_edit(w->model, &key, true);
		vf->facts.parent = fake_key(PF);
		vf->facts.index = (int32_t)i;
	}
	model_publish(w->model);
	model_unlock(w->model);
}

DEFINE_TEST(a_stuck_pf_with_more_vfs_than_are_looked_after_is_left_alone)
{
	struct world_fake w = server();

	fake_edit(&w, PF, half_done);
	add_vfs(&w, 2, 1024);
	CHECK_STR(plan_number(&w, PF, "2"), "1 " PF " sriov_numvfs 0\nmore\n");
	fake_edit(&w, VF1, fake_by_alice);
	CHECK_STR(plan_number(&w, PF, "2"), "nothing to do\n");
	add_vfs(&w, 1024, 1025);
	CHECK_IN(plan_number(&w, PF, "2"),
		 "EOPNOTSUPP: " PF " has 1025 VFs, and pcidevfs handles at most 1024 of one device");
	fake_close(&w);
}

static void garbled(struct device *dev)
{
	STR_COPY(dev->facts.garbled, "sriov_totalvfs holds \"junk\"");
}

DEFINE_TEST(vfs_of_what_cannot_be_told_stay)
{
	struct world_fake w = server();

	fake_edit(&w, PF, garbled);
	CHECK_STR(plan_number(&w, PF, "2"), "nothing to do\n");
	CHECK_IN(plan_number(&w, PF, "0"), "EOPNOTSUPP: sysfs holds invalid data for " PF " (");
	fake_close(&w);
}

DEFINE_TEST(vfs_need_the_pfs_driver)
{
	struct world_fake w = server();

	fake_edit(&w, PF, fake_to_none);
	CHECK_IN(plan_number(&w, PF, "0"),
		 "EOPNOTSUPP: the driver of " PF " was removed and has left its 2 VFs behind");
	fake_edit(&w, PF, no_vfs);
	CHECK_IN(plan_number(&w, PF, "1"), "EOPNOTSUPP: " PF " has no driver");
	fake_edit(&w, PF, to_vfio);
	CHECK_IN(plan_number(&w, PF, "1"), "EOPNOTSUPP: " PF " is on vfio-pci, which makes no VFs");
	fake_edit(&w, PF, fake_by_alice);
	CHECK_IN(plan_number(&w, PF, "1"), "EBUSY: " PF " is claimed by alice");
	fake_edit(&w, PF, with_pod);
	CHECK_IN(plan_number(&w, PF, "1"),
		 "EBUSY: " PF " is allocated to default/vm-1/compute; end that");
	fake_close(&w);
}

DEFINE_TEST(vfs_in_use_stay)
{
	struct world_fake w = server();

	fake_edit(&w, VF0, fake_split);
	CHECK_IN(plan_number(&w, PF, "0"),
		 "EBUSY: virtfn0 of " PF ": " VF0 " is the parent of mediated device " FAKE_UUID
		 "; write none to its profile");
	fake_edit(&w, VF0, fake_whole);
	fake_edit(&w, VF1, fake_by_qemu);
	CHECK_IN(plan_number(&w, PF, "0"),
		 "EBUSY: virtfn1 of " PF ": " VF1
		 " is held by qemu kvm (pid 812); stop it and write again");
	fake_edit(&w, VF1, fake_by_alice);
	CHECK_IN(plan_number(&w, PF, "3"),
		 "EBUSY: virtfn1 of " PF ": " VF1 " is claimed by alice; write none");
	fake_edit(&w, VF1, with_pod);
	CHECK_IN(plan_number(&w, PF, "3"), "EBUSY: virtfn1 of " PF ": " VF1
					   " is allocated to default/vm-1/compute; end that");
	CHECK_STR(plan_number(&w, PF, "2"), "nothing to do\n");
	fake_edit(&w, VF0, by_root);
	CHECK_IN(plan_number(&w, PF, "0"),
		 "EPERM: virtfn0 of " PF ": the host needs " VF0 ": NIC eth4");
	fake_close(&w);
}

static const struct verb *verb_of(const struct world_fake *w, const char *name)
{
	const struct verb *const *v = backend_verbs(w->backend);

	while (*v && strcmp((*v)->name, name))
		v++;
	CHECK(*v);
	return *v;
}

static void step_refused(struct world_fake *w, const char *value, bool force, int code,
			 const char *text)
{
	struct step step = { .verb = verb_of(w, "sriov_numvfs"),
			     .dev = fake_key(PF),
			     .force = force };
	struct err err = { 0 };

	STR_COPY(step.value, value);
	model_lock(w->model);
	CHECK_EQ(step.verb->refuse(w->model, &step, &err), -code);
	model_unlock(w->model);
	CHECK_IN(err.text, text);
}

/* Somebody comes between plan and write. Claims belong to the plan: the same operation may release
 * them. */
DEFINE_TEST(vfs_in_use_stay_also_right_before_the_step)
{
	struct world_fake w = server();

	step_refused(&w, "0", false, 0, "");
	fake_edit(&w, VF1, fake_by_alice);
	step_refused(&w, "4", false, 0, "");
	fake_edit(&w, VF1, fake_by_qemu);
	fake_edit(&w, VF0, fake_split);
	step_refused(&w, "0", true, EBUSY, VF0 " is the parent of mediated device " FAKE_UUID);
	fake_edit(&w, VF0, fake_whole);
	step_refused(&w, "0", true, EBUSY,
		     "virtfn1 of " PF ": " VF1 " is held by qemu kvm (pid 812)");
	fake_edit(&w, VF0, by_root);
	step_refused(&w, "4", false, EPERM, "virtfn0 of " PF ": the host needs " VF0 ": NIC eth4");
	step_refused(&w, "4", true, EBUSY, "virtfn1 of " PF);
	fake_close(&w);
}

DEFINE_TEST(vfs_go_with_their_release)
{
	struct world_fake w = server();
	struct request requests[] = { fake_request(PF, 0, "sriov_numvfs", "0"),
				 fake_request(PF, 2, "claim", "") };

	fake_edit(&w, VF1, to_vfio);
	fake_edit(&w, VF1, fake_by_alice);
	CHECK_IN(fake_plan(&w, requests, 1, false), "EBUSY: ");
	CHECK_STR(fake_plan(&w, requests, 2, false), "1 " VF1 " unbind vfio-pci\n"
						   "2 " VF1 " driver_override none\n"
						   "3 " VF1 " drivers_probe none\n"
						   "4 " PF " sriov_numvfs 0\n");
	fake_close(&w);
}

DEFINE_TEST(a_pf_is_claimed_when_its_vfs_go)
{
	struct world_fake w = server();
	struct request requests[] = { fake_request(PF, 0, "claim", "alice"),
				 fake_request(PF, 0, "sriov_numvfs", "0") };

	CHECK_IN(fake_plan(&w, requests, 1, false), "EBUSY: " PF " has 2 VFs");
	CHECK_STR(fake_plan(&w, requests, 2, false), "1 " PF " sriov_numvfs 0\nmore\n");
	CHECK_IN(fake_plan(&w, requests, 2, true),
		 "2 " PF " driver_override vfio-pci (expected)\n");
	STR_COPY(requests[1].value, "3");
	CHECK_IN(fake_plan(&w, requests, 2, false),
		 "EBUSY: " PF " cannot have VFs and be claimed by alice");
	fake_close(&w);
}

DEFINE_TEST(vfs_for_guests_meet_no_host_driver)
{
	struct world_fake w = server();
	struct request requests[] = { fake_request(PF, 0, "sriov_numvfs", "3"),
				 fake_request(PF, 3, "claim", "alice") };

	fake_edit(&w, PF, no_vfs);
	CHECK_STR(fake_plan(&w, requests, 2, false), "1 " PF " sriov_drivers_autoprobe 0\n"
						   "2 " PF " sriov_numvfs 3\nmore\n");
	CHECK_STR(fake_plan(&w, requests, 2, true),
		  "1 " PF " sriov_drivers_autoprobe 0\n"
		  "2 " PF " sriov_numvfs 3\n"
		  "3 " PF " sriov_drivers_autoprobe 1\n"
		  "4 " PF "/virtfn2 driver_override vfio-pci (expected)\n"
		  "5 " PF "/virtfn2 bind vfio-pci (expected)\n"
		  "6 " PF "/virtfn2 node /dev/vfio/? (expected)\nmore\n");
	/* A request that is stored counts as well. */
	fake_edit(&w, PF, stored_vf1);
	CHECK_IN(plan_number(&w, PF, "2"), "1 " PF " sriov_drivers_autoprobe 0\n");
	CHECK_STR(plan_number(&w, PF, "1"), "1 " PF " sriov_numvfs 1\n");
	fake_close(&w);
}

DEFINE_TEST(autoprobe_comes_back_and_others_are_probed)
{
	struct world_fake w = server();

	fake_edit(&w, VF0, fake_to_none);
	fake_edit(&w, VF1, fake_to_none);
	fake_edit(&w, PF, stored_vf1);
	fake_edit(&w, PF, probe_off);
	CHECK_STR(plan_number(&w, PF, "2"), "1 " VF1 " driver_override vfio-pci\n"
					    "2 " PF " sriov_drivers_autoprobe 1\n"
					    "3 " VF0 " drivers_probe none\n");
	fake_close(&w);
}

static void same_group(struct device *dev)
{
	dev->facts.iommu_group = 6;
}

DEFINE_TEST(one_vf_under_two_names_is_one)
{
	struct world_fake w = server();
	struct request twice[] = { fake_request(VF1, 0, "claim", "alice"),
				fake_request(PF, 2, "claim", "bob") };
	struct request group[] = { fake_request(PF, 2, "claim", "alice"),
				fake_request(PF, 1, "claim", "bob") };

	CHECK_STR(fake_plan(&w, twice, 2, false),
		  "EINVAL: " VF1
		  " is named in two ways, and its claim is written twice in one transaction");
	STR_COPY(twice[1].value, "alice");
	CHECK_IN(fake_plan(&w, twice, 2, true), "EINVAL: " VF1 " is named in two ways");
	fake_edit(&w, VF1, same_group);
	CHECK_IN(fake_plan(&w, group, 2, false), "EINVAL: " VF1 " shares IOMMU group 6 with " VF0);
	STR_COPY(group[1].value, "alice");
	CHECK_STR(fake_plan(&w, group, 2, false),
		  "1 " VF0 " driver_override vfio-pci\n2 " VF0 " unbind igbvf\n"
		  "3 " VF0 " bind vfio-pci\n4 " VF1 " driver_override vfio-pci\n"
		  "5 " VF1 " unbind igbvf\n6 " VF1 " bind vfio-pci\n"
		  "7 " VF0 " node /dev/vfio/6\n");
	fake_close(&w);
}

DEFINE_TEST(nothing_is_asked_of_a_vf_that_goes)
{
	struct world_fake w = server();
	struct request requests[] = { fake_request(PF, 2, "claim", "alice"),
				 fake_request(PF, 0, "sriov_numvfs", "1") };
	struct request named[] = { fake_request(VF1, 0, "pooled", "0"),
				fake_request(PF, 0, "sriov_numvfs", "0") };

	CHECK_STR(fake_plan(&w, requests, 2, false),
		  "EINVAL: " VF1 " is virtfn1 of " PF ", which has fewer VFs at the "
		  "end of this transaction");
	CHECK_IN(fake_plan(&w, named, 2, false), "EINVAL: " VF1 " is virtfn1 of " PF);
	STR_COPY(requests[0].value, "");
	CHECK_IN(fake_plan(&w, requests, 2, false), PF " sriov_numvfs 0\nmore\n");
	fake_close(&w);
}

static void many_vfs(struct device *dev)
{
	dev->facts.num_vfs = 0;
	dev->facts.total_vfs = UINT16_MAX;
	dev->intent.vf_claims[INTENT_VFS / 64 - 1] = 1ull << 63;
}

/* A PF may have far more VFs than are looked after. */
DEFINE_TEST(vfs_are_made_as_far_as_they_are_kept)
{
	struct world_fake w = server();

	fake_edit(&w, PF, many_vfs);
	CHECK_STR(plan_number(&w, PF, "1023"), "1 " PF " sriov_numvfs 1023\n");
	CHECK_STR(plan_number(&w, PF, "1024"), "1 " PF " sriov_drivers_autoprobe 0\n"
					       "2 " PF " sriov_numvfs 1024\nmore\n");
	CHECK_STR(plan_number(&w, PF, "1025"),
		  "EOPNOTSUPP: sriov_numvfs: 1025 asked for " PF "; pcidevfs handles at most 1024 "
		  "VFs of one device");
	fake_close(&w);
}

DEFINE_TEST(what_a_vf_to_come_is_refused_is_foretold)
{
	struct world_fake w = server();
	struct request requests[] = { fake_request(PF, 0, "sriov_numvfs", "3"),
				 fake_request(PF, 3, "claim", "alice") };

	fake_edit(&w, PF, no_vfs);
	model_lock(w.model);
	model_set_iommu(w.model, false);
	model_publish(w.model);
	model_unlock(w.model);
	CHECK_IN(fake_plan(&w, requests, 2, true), "EOPNOTSUPP: this host has no IOMMU");
	STR_COPY(requests[1].value, "");
	CHECK_STR(fake_plan(&w, requests, 2, true), "1 " PF " sriov_numvfs 3\nmore\n");
	fake_close(&w);
}

/* Nobody has bound or offered what is not there. */
DEFINE_TEST(nothing_is_adopted_of_a_vf_to_come)
{
	struct world_fake w = server();
	struct request requests[] = { fake_request(PF, 0, "sriov_numvfs", "3"),
				      fake_request(PF, 3, "claim", "alice"),
				      fake_request(PF, 3, "former_driver", "igbvf") };

	fake_edit(&w, PF, no_vfs);
	CHECK_STR(fake_plan(&w, requests, 3, true),
		  "EINVAL: " PF "/virtfn2 is not there yet, so no driver had it; leave former_driver out");
	requests[2] = fake_request(PF, 3, "offered_as", "a.com/OLD");
	CHECK_STR(fake_plan(&w, requests, 3, true),
		  "EINVAL: " PF "/virtfn2 is not there yet, so it was never offered; write resource_name instead of offered_as");
	fake_close(&w);
}

static struct facts facts_of(struct world_fake *w, const char *address)
{
	struct key key = fake_key(address);
	struct facts f;

	model_lock(w->model);
	f = model_find(w->model, &key)->facts;
	model_unlock(w->model);
	return f;
}

DEFINE_TEST(a_vf_has_its_pfs_serial)
{
	struct world_fake w = server();
	const uint32_t words[] = { 0x00010003, 0xdeadbeef, 0x9ce330ff };
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/" PF "/config", test_dir());
	fd = open(path, O_RDWR | O_CREAT, 0600);
	CHECK_EQ(pwrite(fd, words, sizeof(words), 0x100), sizeof(words));
	close(fd);
	CHECK(!facts_of(&w, PF).serial_known);
	ask_now(w.backend, &ask_serial, NULL, 0, 0, NULL);
	CHECK_EQ(facts_of(&w, PF).serial, 0x9ce330ffdeadbeef);
	CHECK_EQ(facts_of(&w, VF1).serial, 0x9ce330ffdeadbeef);
	CHECK(facts_of(&w, VF1).serial_known && facts_of(&w, PLAIN).serial_known);
	CHECK_EQ(facts_of(&w, PLAIN).serial, 0);
	/* It is read once. */
	CHECK_EQ(backend_scan(w.backend, NULL), 0);
	CHECK_EQ(facts_of(&w, PF).serial, 0x9ce330ffdeadbeef);
	fake_close(&w);
}

/* That no helper can be had says nothing about a card. */
DEFINE_TEST(serials_are_looked_for_again)
{
	struct key of;
	struct world_fake w;
	struct roots roots = fake_roots();
	int nobody[2], spawner;

	w = server();
	fake_close(&w);
	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, nobody) && !close(nobody[1]));
	w = fake_open_by(nobody[0]);
	CHECK_EQ(ask_now(w.backend, &ask_serial, NULL, 0, 0, NULL), -ECHILD);
	CHECK(!facts_of(&w, PLAIN).serial_known && !facts_of(&w, VF1).serial_known);
	of = fake_key(PLAIN);
	CHECK_EQ(ask_now(w.backend, &ask_serial, &of, 1, 0, NULL), -ECHILD);
	CHECK(!facts_of(&w, PLAIN).serial_known);
	CHECK_EQ(backend_open_spawner(&roots, &spawner, NULL), 0);
	CHECK_EQ(dup2(spawner, nobody[0]), nobody[0]);
	CHECK_EQ(ask_now(w.backend, &ask_serial, NULL, 0, 0, NULL), 0);
	CHECK(facts_of(&w, PLAIN).serial_known && facts_of(&w, VF1).serial_known);
	fake_close(&w);
}
