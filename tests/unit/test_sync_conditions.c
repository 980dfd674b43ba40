// SPDX-License-Identifier: GPL-2.0-or-later
/* Conditions beside the object's own: who has the device, and whether it could be claimed. */
#include <stdlib.h>
#include <string.h>

#include "pcidevfs/util.h"
#include "syncworld.h"
#include "test.h"

#define AUDIO "0000:05:00.1"
#define AUDIO_NAME "node1-000005001"
#define POD " allocated_to=default/vm2/compute"
#define PENDING " allocated_to=pending"
#define HELD                                                                                       \
	"vendor=0x144d device=0xa808 class=0x010802 kind=pci resource_name=samsung.com/SM981 "     \
	"iommu_group=37 driver=vfio-pci claim=alice claimable=no state=held "                      \
	"reason=\"held open by a process, see holders\""
#define VF "0000:08:00.4"
#define VF_NAME "node1-000008004"
#define VF_FACTS                                                                                   \
	"class=0x030200 kind=vgpu physfn=" GPU " driver=nvidia profile=\"NVIDIA A2-4Q\" "          \
	"profile_id=592 resource_name=nvidia.com/NVIDIA_A2-4Q claim=admin iommu_group=90"
#define MDEV "mdev/aaaaaaaa-0000-4000-8000-000000000001"
#define NIC "0000:02:00.0"
#define NIC_NAME "node1-enp2s0"
#define NIC_FACTS                                                                                  \
	"class=0x020000 kind=sriov-nic driver=igb netdev=enp2s0 claim=none sriov_totalvfs=4 "      \
	"sriov_numvfs=1"
#define NIC_VF "0000:02:10.0"
#define NIC_VF_NAME "node1-000002100"
#define NIC_VF_FACTS "class=0x020000 kind=vf physfn=" NIC " driver=vfio-pci iommu_group=50"
#define STICK "usb/1-2"
#define STICK_NAME "node1-0951-1666-001004"
#define STICK_FACTS                                                                                \
	"vendor=0951 device=1666 class=080650 kind=usb busnum=1 devnum=4 "                         \
	"controller=0000:00:14.0 resource_name=kubevirt.io/" STICK_NAME

static void now(struct syncworld *s, const char *id, const char *pairs)
{
	syncworld_device(s, id, pairs);
	free(syncworld_settle(s));
	expect(syncworld_decide(s), "");
}

DEFINE_TEST(sync_conditions_who_has_a_device_is_told_as_long_as_somebody_has)
{
	static const char *const rows[][3] = {
		{ HELD, "Held", "held open by a process, see holders on the node" },
		{ CLAIMED("alice") PENDING, "Allocated", "a pod that kubelet has not named yet" },
		{ CLAIMED("alice") POD, "Allocated", "default/vm2" },
		{ CLAIMED("alice") " allocated_to=claim:1b4e", "Allocated",
		  "the ResourceClaim with uid 1b4e" },
	};
	struct syncworld s;

	syncworld_init(&s);
	syncworld_object(&s, PCI_CLAIM, CLAIM("alice"));
	now(&s, NVME, CLAIMED("alice"));
	CHECK_STR(told(&s, PCI_DEVICE, NAME, "InUse", "type"), "");
	CHECK_STR(told(&s, PCI_CLAIM, NAME, "InUse", "type"), "");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		now(&s, NVME, rows[i][0]);
		for (enum kind_id kind = PCI_DEVICE; kind <= PCI_CLAIM; kind++) {
			CHECK_STR(told(&s, kind, NAME, "InUse", "status"), "True");
			CHECK_STR(told(&s, kind, NAME, "InUse", "reason"), rows[i][1]);
			CHECK_STR(told(&s, kind, NAME, "InUse", "message"), rows[i][2]);
		}
		CHECK_STR(told(&s, PCI_CLAIM, NAME, "Claimed", "status"), "True");
	}
	now(&s, NVME, CLAIMED("alice")); /* nothing else changes */
	CHECK_STR(told(&s, PCI_DEVICE, NAME, "InUse", "type"), "");
	CHECK_STR(told(&s, PCI_CLAIM, NAME, "InUse", "type"), "");
	CHECK_STR(told(&s, PCI_CLAIM, NAME, "Claimed", "status"), "True");
	syncworld_free(&s);
}

static const char *pod_of(struct syncworld *s, enum kind_id kind, const char *name)
{
	return js_meta(object(s, kind, name), "annotations", "pcidevfs/allocated-to") ?: "";
}

/* Another program finds the VM of the pod, without a right to the tree. */
DEFINE_TEST(sync_conditions_the_pod_that_has_a_device_is_named_on_its_object)
{
	static const char *const rows[][2] = {
		{ " allocated_to=pending", "" },
		{ POD, "default/vm2" },
		{ " allocated_to=pending", "default/vm2" }, /* a new daemon */
		{ " allocated_to=default/vm3/compute", "default/vm3" },
		{ " allocated_to=claim:1b4e", "" },
		{ POD, "default/vm2" },
		{ "", "" },
	};
	struct syncworld s;
	char pairs[512];

	syncworld_init(&s);
	syncworld_object(&s, PCI_CLAIM, CLAIM("alice"));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(pairs, sizeof(pairs), "%s%s", CLAIMED("alice"), rows[i][0]);
		now(&s, NVME, pairs);
		CHECK_STR(pod_of(&s, PCI_DEVICE, NAME), rows[i][1]);
		CHECK_STR(note_of(&s), "alice");
		snprintf(pairs, sizeof(pairs), "%s%s", STICK_FACTS " claim=alice", rows[i][0]);
		now(&s, STICK, pairs);
		CHECK_STR(pod_of(&s, USB_DEVICE, STICK_NAME), rows[i][1]);
	}
	syncworld_free(&s);
}

static void tell_vm(struct syncworld *s, enum kind_id kind, const char *name, const char *vm)
{
	js_set_meta(object(s, kind, name), "annotations", "pcidevfs-cluster/vm", vm);
}

DEFINE_TEST(sync_conditions_the_vm_of_the_pod_is_named_once_it_is_known)
{
	static const char *const rows[][2] = {
		{ "default/virt-launcher-vm2-x7 vm2", "VM default/vm2" },
		{ "default/virt-launcher-vm2-x8 vm2", "default/virt-launcher-vm2-x7" },
		{ "other/virt-launcher-vm2-x7 vm2", "default/virt-launcher-vm2-x7" },
		{ "default/virt-launcher-vm2-x7", "default/virt-launcher-vm2-x7" },
		{ "default/virt-launcher-vm2-x7 a\nb", "default/virt-launcher-vm2-x7" },
		{ "", "default/virt-launcher-vm2-x7" },
	};
	struct syncworld s;

	syncworld_init(&s);
	syncworld_object(&s, PCI_CLAIM, CLAIM("alice"));
	now(&s, NVME, CLAIMED("alice") " allocated_to=default/virt-launcher-vm2-x7/compute");
	now(&s, STICK,
	    STICK_FACTS " claim=alice allocated_to=default/virt-launcher-vm2-x7/compute");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		tell_vm(&s, PCI_DEVICE, NAME, rows[i][0]);
		tell_vm(&s, USB_DEVICE, STICK_NAME, rows[i][0]);
		free(syncworld_settle(&s));
		CHECK_STR(told(&s, PCI_DEVICE, NAME, "InUse", "message"), rows[i][1]);
		CHECK_STR(told(&s, PCI_CLAIM, NAME, "InUse", "message"), rows[i][1]);
		CHECK_STR(told(&s, USB_DEVICE, STICK_NAME, "InUse", "message"), rows[i][1]);
	}
	syncworld_free(&s);
}

DEFINE_TEST(sync_conditions_a_claim_that_has_not_the_device_may_go)
{
	struct syncworld s;

	syncworld_init(&s);
	syncworld_object(&s, PCI_CLAIM, CLAIM("alice"));
	now(&s, NVME, CLAIMED("alice") POD);
	syncworld_object(
		&s, PCI_CLAIM,
		"{\"metadata\":{\"name\":\"mine\",\"ownerReferences\":[{\"kind\":\"PCIDevice\","
		"\"name\":\"" NAME "\"}]},\"spec\":{\"address\":\"" NVME
		"\",\"nodeName\":\"node1\",\"userName\":\"bob\"}}");
	free(syncworld_settle(&s));
	CHECK_STR(told(&s, PCI_CLAIM, NAME, "InUse", "status"), "True");
	CHECK_STR(told(&s, PCI_CLAIM, "mine", "Claimed", "status"), "False");
	CHECK_STR(told(&s, PCI_CLAIM, "mine", "InUse", "type"), "");
	syncworld_free(&s);
}

DEFINE_TEST(sync_conditions_a_group_is_in_use_as_a_whole)
{
	struct syncworld s;

	syncworld_init(&s);
	now(&s, AUDIO, CLAIMED("alice"));
	now(&s, NVME, CLAIMED("alice") POD);
	CHECK_STR(told(&s, PCI_DEVICE, NAME, "InUse", "message"), "default/vm2");
	CHECK_STR(told(&s, PCI_DEVICE, AUDIO_NAME, "InUse", "message"),
		  NVME " of its IOMMU group: default/vm2");
	CHECK_STR(told(&s, PCI_CLAIM, AUDIO_NAME, "InUse", "message"),
		  NVME " of its IOMMU group: default/vm2");
	syncworld_free(&s);
}

DEFINE_TEST(sync_conditions_a_card_is_in_use_with_one_of_its_vgpus)
{
	struct syncworld s;

	syncworld_init(&s);
	now(&s, GPU, GPU_FACTS("1"));
	now(&s, VF, VF_FACTS);
	CHECK_STR(told(&s, GPU_DEVICE, GPU_NAME, "InUse", "type"), ""); /* admin's is nobody's */
	now(&s, VF, VF_FACTS POD);
	CHECK_STR(told(&s, VGPU_DEVICE, VF_NAME, "InUse", "message"), "default/vm2");
	CHECK_STR(told(&s, PCI_CLAIM, VF_NAME, "InUse", "message"), "default/vm2");
	CHECK_STR(told(&s, GPU_DEVICE, GPU_NAME, "InUse", "message"), "its VF " VF ": default/vm2");
	CHECK_STR(told(&s, PCI_DEVICE, GPU_NAME, "InUse", "message"), "its VF " VF ": default/vm2");
	now(&s, VF, VF_FACTS);
	CHECK_STR(told(&s, GPU_DEVICE, GPU_NAME, "InUse", "type"), "");
	syncworld_free(&s);
}

DEFINE_TEST(sync_conditions_a_function_is_in_use_with_a_vgpu_that_it_made)
{
	struct syncworld s;

	syncworld_init(&s);
	now(&s, GPU, "class=0x030200 kind=pci driver=nvidia claim=none");
	now(&s, MDEV, "kind=mdev parent=" GPU " claim=admin");
	CHECK_STR(told(&s, PCI_DEVICE, GPU_NAME, "InUse", "type"), "");
	now(&s, MDEV, "kind=mdev parent=" GPU " claim=admin" POD);
	CHECK_STR(told(&s, PCI_DEVICE, GPU_NAME, "InUse", "message"),
		  "its vGPU " MDEV ": default/vm2");
	syncworld_free(&s);
}

DEFINE_TEST(sync_conditions_a_nic_is_in_use_while_a_vf_is_claimed)
{
	struct syncworld s;

	syncworld_init(&s);
	now(&s, NIC, NIC_FACTS);
	now(&s, NIC_VF, NIC_VF_FACTS " claim=none");
	CHECK_STR(told(&s, NET_DEVICE, NIC_NAME, "InUse", "type"), "");
	now(&s, NIC_VF, NIC_VF_FACTS " claim=alice");
	CHECK_STR(told(&s, NET_DEVICE, NIC_NAME, "InUse", "reason"), "Claimed");
	CHECK_STR(told(&s, NET_DEVICE, NIC_NAME, "InUse", "message"),
		  "its VF " NIC_VF ": claimed by alice");
	CHECK_STR(told(&s, PCI_DEVICE, NIC_VF_NAME, "InUse", "type"), "");
	now(&s, NIC_VF, NIC_VF_FACTS " claim=alice" POD);
	CHECK_STR(told(&s, NET_DEVICE, NIC_NAME, "InUse", "message"),
		  "its VF " NIC_VF ": default/vm2");
	syncworld_free(&s);
}

/* A new daemon reads pending until kubelet has named the pod again. */
DEFINE_TEST(sync_conditions_a_pod_that_was_named_is_not_told_anew)
{
	struct syncworld s;

	syncworld_init(&s);
	now(&s, NIC, NIC_FACTS);
	now(&s, NIC_VF, NIC_VF_FACTS " claim=alice" POD);
	now(&s, NIC_VF, NIC_VF_FACTS " claim=alice" PENDING);
	CHECK_STR(told(&s, PCI_DEVICE, NIC_VF_NAME, "InUse", "message"), "default/vm2");
	CHECK_STR(told(&s, NET_DEVICE, NIC_NAME, "InUse", "message"),
		  "its VF " NIC_VF ": default/vm2");
	now(&s, NIC_VF, NIC_VF_FACTS " claim=alice allocated_to=default/vm3/compute");
	CHECK_STR(told(&s, PCI_DEVICE, NIC_VF_NAME, "InUse", "message"), "default/vm3");
	now(&s, NIC_VF, NIC_VF_FACTS " claim=alice");
	now(&s, NIC_VF, NIC_VF_FACTS " claim=alice" PENDING);
	CHECK_STR(told(&s, PCI_DEVICE, NIC_VF_NAME, "InUse", "message"),
		  "a pod that kubelet has not named yet");
	syncworld_free(&s);
}

#define MEMBER(state)                                                                              \
	"class=0x010802 kind=pci driver=vfio-pci claim=alice iommu_group=37 state=" state
#define OPEN " reason=\"held open by a process, see holders\""

/* A state that comes before held in the list hides it; the pod is told in any state. */
DEFINE_TEST(sync_conditions_a_state_that_hides_the_holder_ends_no_use)
{
	static const char *const hides[] = { MEMBER("stuck"), MEMBER("unhealthy"), MEMBER("busy") };
	struct syncworld s;

	syncworld_init(&s);
	now(&s, NVME, MEMBER("claimed"));
	now(&s, AUDIO, MEMBER("claimed"));
	for (size_t i = 0; i < ARRAY_SIZE(hides); i++) {
		now(&s, NVME, hides[i]);
		CHECK_STR(told(&s, PCI_DEVICE, NAME, "InUse", "type"), "");
		now(&s, NVME, MEMBER("held") OPEN);
		now(&s, NVME, hides[i]);
		CHECK_STR(told(&s, PCI_DEVICE, NAME, "InUse", "reason"), "Held");
		CHECK_STR(told(&s, PCI_CLAIM, NAME, "InUse", "reason"), "Held");
		CHECK_STR(told(&s, PCI_DEVICE, AUDIO_NAME, "InUse", "reason"), "Held");
		now(&s, NVME, MEMBER("claimed"));
		CHECK_STR(told(&s, PCI_DEVICE, NAME, "InUse", "type"), "");
		CHECK_STR(told(&s, PCI_DEVICE, AUDIO_NAME, "InUse", "type"), "");
	}
	/* What another member does not hide ends, and so does what its pod had. */
	now(&s, AUDIO, MEMBER("held") OPEN);
	now(&s, NVME, MEMBER("unhealthy"));
	now(&s, AUDIO, MEMBER("claimed"));
	CHECK_STR(told(&s, PCI_DEVICE, AUDIO_NAME, "InUse", "type"), "");
	now(&s, NVME, MEMBER("unhealthy") POD);
	CHECK_STR(told(&s, PCI_DEVICE, NAME, "InUse", "message"), "default/vm2");
	now(&s, NVME, MEMBER("unhealthy"));
	CHECK_STR(told(&s, PCI_DEVICE, NAME, "InUse", "type"), "");
	syncworld_free(&s);
}

DEFINE_TEST(sync_conditions_a_card_stays_in_use_while_its_vgpu_is_busy)
{
	struct syncworld s;

	syncworld_init(&s);
	now(&s, GPU, GPU_FACTS("1"));
	now(&s, VF, VF_FACTS POD);
	now(&s, VF, VF_FACTS " state=busy");
	CHECK_STR(told(&s, GPU_DEVICE, GPU_NAME, "InUse", "message"), "its VF " VF ": default/vm2");
	now(&s, VF, VF_FACTS);
	CHECK_STR(told(&s, GPU_DEVICE, GPU_NAME, "InUse", "type"), "");
	syncworld_free(&s);
}

/* What the cluster's role made of it while nobody heard of this node is replaced by what is so, but
 * not while that is not known yet. */
DEFINE_TEST(sync_conditions_an_unknown_use_ends_once_it_is_known)
{
	static const char unknown[] =
		"{\"metadata\":{\"name\":\"" NAME "\"},\"status\":{\"conditions\":[{"
		"\"type\":\"InUse\",\"status\":\"Unknown\",\"reason\":\"NodeUnreachable\","
		"\"message\":\"node node1 has not reported\",\"lastTransitionTime\":\"THEN\"}]}}";
	struct syncworld s;

	syncworld_init(&s);
	syncworld_object(&s, PCI_DEVICE, unknown);
	now(&s, NVME, MEMBER("busy"));
	CHECK_STR(told(&s, PCI_DEVICE, NAME, "InUse", "status"), "Unknown");
	now(&s, NVME, CLAIMED("alice"));
	CHECK_STR(told(&s, PCI_DEVICE, NAME, "InUse", "type"), "");
	syncworld_object(&s, PCI_DEVICE, unknown);
	now(&s, NVME, CLAIMED("alice") POD);
	CHECK_STR(told(&s, PCI_DEVICE, NAME, "InUse", "status"), "True");
	CHECK_STR(told(&s, PCI_DEVICE, NAME, "InUse", "lastTransitionTime"), "NOW");
	syncworld_free(&s);
}

/* Another's may have none, and the CRD takes no empty one. */
DEFINE_TEST(sync_conditions_a_time_that_is_not_there_is_now)
{
	struct syncworld s;

	syncworld_init(&s);
	syncworld_object(&s, PCI_DEVICE,
			 "{\"metadata\":{\"name\":\"" NAME "\"},\"status\":{\"conditions\":[{"
			 "\"type\":\"InUse\",\"status\":\"True\"}]}}");
	now(&s, NVME, CLAIMED("alice") POD);
	CHECK_STR(told(&s, PCI_DEVICE, NAME, "InUse", "lastTransitionTime"), "NOW");
	syncworld_free(&s);
}

DEFINE_TEST(sync_conditions_a_usb_controller_is_in_use_with_its_device)
{
	struct syncworld s;

	syncworld_init(&s);
	now(&s, "0000:00:14.0", "class=0x0c0330 kind=pci driver=xhci_hcd claim=none");
	now(&s, STICK, STICK_FACTS " claim=alice" POD);
	CHECK_STR(told(&s, USB_DEVICE, STICK_NAME, "InUse", "message"), "default/vm2");
	CHECK_STR(told(&s, USB_CLAIM, STICK_NAME, "InUse", "message"), "default/vm2");
	CHECK_STR(told(&s, PCI_DEVICE, "node1-000000140", "InUse", "message"),
		  "its USB device " STICK ": default/vm2");
	syncworld_free(&s);
}

#define HOSTS "vendor=0x144d claim=none driver=nvme kind=pci "
#define DISK "claimable=\"the host needs " NVME ": it stays unless ctl has a line \\\"force x\\\"\""

DEFINE_TEST(sync_conditions_whether_a_claim_would_be_taken_is_told_before)
{
	struct syncworld s;

	syncworld_init(&s);
	now(&s, NVME, HOSTS "claimable=yes state=free");
	CHECK_STR(told(&s, PCI_DEVICE, NAME, "Claimable", "status"), "True");
	CHECK_STR(told(&s, PCI_DEVICE, NAME, "Claimable", "message"), "yes");
	now(&s, NVME, HOSTS DISK " state=host");
	CHECK_STR(told(&s, PCI_DEVICE, NAME, "Claimable", "status"), "False");
	CHECK_STR(told(&s, PCI_DEVICE, NAME, "Claimable", "message"),
		  "the host needs " NVME ": it stays unless root on the node forces it");
	/* An operation is no reason to write: neither what it begins with nor what it goes
	 * through. */
	now(&s, NVME, HOSTS "claimable=yes state=busy");
	CHECK_STR(told(&s, PCI_DEVICE, NAME, "Claimable", "status"), "False");
	now(&s, NVME, HOSTS "claimable=yes state=free");
	CHECK_STR(told(&s, PCI_DEVICE, NAME, "Claimable", "status"), "True");
	syncworld_free(&s);
}

/* The status words of two conditions change at different times. */
DEFINE_TEST(sync_conditions_each_has_the_time_of_its_own_change)
{
	struct syncworld s;

	syncworld_init(&s);
	syncworld_object(&s, PCI_CLAIM, CLAIM("alice"));
	now(&s, NVME, CLAIMED("alice"));
	s.w.now = "LATER";
	now(&s, NVME, CLAIMED("alice") POD);
	CHECK_STR(told(&s, PCI_CLAIM, NAME, "Claimed", "lastTransitionTime"), "NOW");
	CHECK_STR(told(&s, PCI_CLAIM, NAME, "InUse", "lastTransitionTime"), "LATER");
	syncworld_free(&s);
}

DEFINE_TEST(sync_conditions_are_not_written_where_the_cluster_has_none)
{
	struct syncworld s;

	syncworld_init(&s);
	s.w.lacks[PCI_DEVICE] = LACKS_CONDITIONS;
	now(&s, NVME, CLAIMED("alice") POD);
	CHECK(!js_get(object_find(&s.w, PCI_DEVICE, NAME), "status.conditions"));
	syncworld_free(&s);
}
