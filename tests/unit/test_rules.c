// SPDX-License-Identifier: GPL-2.0-or-later
/* What follows from the facts and requests of a device; every one of its fields must be known to
 * diff. */
#include <errno.h>
#include <string.h>

#include "model/diff.h"
#include "arena.h"
#include "facts.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "test.h"

/* One row per situation; the first state that fits is shown. */
DEFINE_TEST(state_follows_from_facts)
{
	static const struct {
		const char *driver, *claim, *holders, *critical, *busy, *stuck;
		uint16_t vendor;
		enum state state;
		const char *reason;
		bool no_node;
	} rows[] = {
		{ "", "", "", "", "", "", 0x8086, STATE_FREE, "" },
		{ "ixgbe", "", "", "", "", "", 0x8086, STATE_HOST,
		  "used by the host's driver ixgbe" },
		{ "ixgbe", "", "", "NIC eno1 is up", "", "", 0x8086, STATE_HOST,
		  "the host needs it: NIC eno1 is up" },
		{ "vfio-pci", "", "", "", "", "", 0x8086, STATE_HOST,
		  "found on vfio-pci without a claim" },
		{ "vfio-pci", "alice", "", "", "", "", 0x8086, STATE_CLAIMED, "claimed by alice" },
		{ "vfio-pci", "alice", "pid=7 comm=qemu\npid=8 comm=x\n", "", "", "", 0x8086,
		  STATE_HELD, "held open by a process, see holders" },
		{ "ixgbe", "alice", "", "", "", "", 0x8086, STATE_UNHEALTHY,
		  "its driver is ixgbe" },
		{ "mlx5_vfio_pci", "alice", "", "", "", "", 0x8086, STATE_CLAIMED,
		  "claimed by alice" },
		{ "vfio-pci", "alice", "", "", "claim none", "", 0x8086, STATE_BUSY,
		  "claim none is running" },
		{ "vfio-pci", "alice", "", "", "claim none", "hung", 0x8086, STATE_STUCK, "hung" },
		{ "vfio-pci", "alice", "", "", "", "", 0xffff, STATE_UNHEALTHY,
		  "fallen off the bus: write 1 to its remove and then to bus/pci/rescan" },
		{ "vfio-pci", "alice", "", "", "", "", 0x8086, STATE_UNHEALTHY,
		  "/dev/vfio/7 is not there", true },
		{ "vfio-pci", "", "", "", "", "", 0x8086, STATE_HOST, "without a claim", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct device d = { .key = pci_key("0000:01:00.0") };

		d.facts = (struct facts){ .vendor = rows[i].vendor,
					  .serial_known = true,
					  .class_code = 0x020000,
					  .total_vfs = -1,
					  .iommu_group = 7 };
		if (!rows[i].no_node)
			set_node(&d.facts);
		set_driver(&d.facts, rows[i].driver);
		STR_COPY(d.intent.claim, rows[i].claim);
		STR_COPY(d.facts.holder, rows[i].holders);
		STR_COPY(d.facts.critical, rows[i].critical);
		STR_COPY(d.busy, rows[i].busy);
		STR_COPY(d.stuck, rows[i].stuck);
		device_derive(&d, (struct peers){ 0 });
		CHECK_STR(state_name(d.state), state_name(rows[i].state));
		CHECK_IN(d.reason, rows[i].reason);
		if (!strstr(rows[i].reason, "without a claim"))
			continue;
		d.facts.serial_known = false; /* it may be claimed: no advice to take it */
		device_derive(&d, (struct peers){ 0 });
		CHECK_IN(d.reason, "the card is not identified yet");
	}
}

/* As long as labels and names of pods may be. */
DEFINE_TEST(reason_keeps_its_end)
{
	struct device d = { .key = pci_key("0000:01:00.0") }, peer = d;

	d.facts = (struct facts){
		.vendor = 0x8086, .total_vfs = -1, .iommu_group = 2147483647
	};
	set_node(&d.facts);
	set_driver(&d.facts, "vfio-pci");
	memset(d.intent.claim, 'c', sizeof(d.intent.claim) - 1);
	memset(peer.intent.allocated, 'p', sizeof(peer.intent.allocated) - 1);
	device_derive(&d, (struct peers){ .with_pod = &peer });
	CHECK_IN(d.reason, "claimed by ccc");
	CHECK_IN(d.reason, "c; IOMMU group 2147483647 is allocated to ppp");
	CHECK_IN(d.reason, "ppp, and no other pod can get a part of it");
}

/* A pod's containers may share a group; two pods may not. */
DEFINE_TEST(group_that_two_pods_have_is_unhealthy)
{
	struct device d = { .key = pci_key("0000:01:00.0") }, peer = { .key = pci_key("0000:01:00.1") };

	CHECK(same_pod("a/b/c", "a/b/d") && !same_pod("a/b/c", "a/bb/c"));
	CHECK(same_pod("claim:x", "claim:x") && !same_pod("claim:x", "claim:y"));
	d.facts = (struct facts){
		.vendor = 0x8086, .total_vfs = -1, .iommu_group = 7
	};
	set_node(&d.facts);
	set_driver(&d.facts, "vfio-pci");
	STR_COPY(d.intent.claim, "alice");
	STR_COPY(d.intent.allocated, "default/a/c");
	STR_COPY(peer.intent.allocated, "default/b/c");
	device_derive(&d, (struct peers){ .with_pod = &peer });
	CHECK_STR(state_name(d.state), "allocated");
	device_derive(&d, (struct peers){ .with_pod = &peer, .with_other = &peer });
	CHECK_STR(state_name(d.state), "unhealthy");
	CHECK_IN(d.reason,
		 "allocated to default/a/c while 0000:01:00.1 in the same IOMMU group 7 is "
		 "allocated to default/b/c");
}

/* What KubeVirt takes from nobody is claimed, and no more. */
DEFINE_TEST(what_kubelet_is_not_offered_says_so)
{
	struct device d = { .key = pci_key("10000:01:00.0") };

	d.facts = (struct facts){
		.vendor = 0x8086, .total_vfs = -1, .iommu_group = 7
	};
	set_node(&d.facts);
	set_driver(&d.facts, "vfio-pci");
	STR_COPY(d.intent.claim, "alice");
	device_derive(&d, (struct peers){ 0 });
	CHECK_STR(d.reason, "claimed by alice; it is not offered to kubelet: KubeVirt does not "
			    "accept PCI domains above ffff");
}

/* The kernel opens a group for nobody while a member is with another driver than vfio's. */
DEFINE_TEST(group_with_a_member_on_the_host_is_of_no_use)
{
	struct device d = { .key = pci_key("0000:01:00.0") }, peer = { .key = pci_key("0000:01:00.1") };
	static const struct {
		const char *driver;
		uint32_t class_code;
		bool spoils;
	} rows[] = {
		{ "e1000", 0x020000, true },	 { "vfio-pci", 0x020000, false },
		{ "", 0x020000, false },	 { "pci-stub", 0x020000, false },
		{ "pcieport", 0x060400, false },
	};

	d.facts = (struct facts){
		.vendor = 0x8086, .total_vfs = -1, .iommu_group = 7
	};
	set_node(&d.facts);
	set_driver(&d.facts, "vfio-pci");
	STR_COPY(d.intent.claim, "alice");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		peer.facts = (struct facts){ .class_code = rows[i].class_code };
		set_driver(&peer.facts, rows[i].driver);
		CHECK_EQ(peer.facts.use == USE_HOST, rows[i].spoils);
	}
	device_derive(&d, (struct peers){ .on_host = &peer });
	CHECK_STR(state_name(d.state), "unhealthy");
	CHECK_IN(d.reason, "0000:01:00.1 in its IOMMU group 7 is with the host's driver pcieport");
	STR_COPY(d.intent.claim, "");
	device_derive(&d, (struct peers){ .on_host = &peer });
	CHECK_STR(state_name(d.state), "host");
}

/* Before anything else that follows from facts: they are not to be relied on. */
DEFINE_TEST(what_sysfs_garbles_is_unhealthy)
{
	struct device d = { .key = pci_key("0000:00:1f.0"), .facts = { .vendor = 0xffff } };
	char doubt[DOUBT_TEXT];

	device_doubt(&d, doubt);
	CHECK_STR(doubt, "");
	STR_COPY(d.facts.garbled, "class holds \"rubbish\"");
	STR_COPY(d.intent.claim, "alice");
	device_derive(&d, (struct peers){ 0 });
	CHECK_STR(state_name(d.state), "unhealthy");
	CHECK_STR(d.reason, "sysfs holds invalid data for 0000:00:1f.0 (class holds \"rubbish\"); "
			    "pcidevfs does not touch it until that is fixed");
	device_doubt(&d, doubt);
	CHECK_STR(doubt, d.reason);
}

/* A container does not start when one of its nodes is not there. */
DEFINE_TEST(nodes_are_those_that_are_there)
{
	static const struct {
		bool group, iommufd;
		const char *cdev, *nodes;
	} rows[] = {
		{ false, false, "", "" },
		{ true, false, "", "/dev/vfio/vfio /dev/vfio/7" },
		{ true, true, "", "/dev/vfio/vfio /dev/vfio/7" }, /* of no use without a cdev */
		{ true, false, "vfio0", "/dev/vfio/vfio /dev/vfio/7 /dev/vfio/devices/vfio0" },
		{ true, true, "vfio0",
		  "/dev/vfio/vfio /dev/vfio/7 /dev/vfio/devices/vfio0 /dev/iommu" },
		{ false, true, "vfio0", "/dev/vfio/devices/vfio0 /dev/iommu" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct device d = { 0 };

		pci_nodes(rows[i].group ? 7 : -1, rows[i].cdev, rows[i].iommufd, d.facts.nodes);
		CHECK_STR(d.facts.nodes, rows[i].nodes);
		CHECK_EQ(device_has_node(&d, "/dev/vfio/7"), rows[i].group);
		CHECK_EQ(device_has_node(&d, "/dev/vfio/devices/vfio0"), !!rows[i].cdev[0]);
		CHECK(!device_has_node(&d, "/dev/vfio") && !device_has_node(&d, "/dev/vfio/77"));
	}
}

DEFINE_TEST(kind_follows_identity)
{
	static const struct {
		uint32_t class_code;
		int32_t total_vfs;
		const char *physfn, *kind;
		bool claimable;
	} rows[] = {
		{ 0x060400, -1, "", "bridge", false },
		{ 0x060000, -1, "", "bridge", false },
		{ 0x060100, -1, "", "pci", true },
		{ 0x030200, 16, "", "sriov-gpu", true },
		{ 0x020000, 63, "", "sriov-nic", true },
		{ 0x010802, 8, "", "sriov", true },
		{ 0x030200, -1, "0000:08:00.0", "vf", true },
		{ 0x030000, -1, "", "pci", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct device d = { .key = pci_key("0000:08:00.4") };

		d.facts = (struct facts){ .vendor = 0x10de,
					  .class_code = rows[i].class_code,
					  .total_vfs = rows[i].total_vfs };
		key_make(BUS_PCI, rows[i].physfn, &d.facts.parent);
		device_derive(&d, (struct peers){ 0 });
		CHECK_STR(kind_name(d.kind), rows[i].kind);
		CHECK_EQ(!!(d.caps & CAP_CLAIM), rows[i].claimable);
	}
}

static bool has_row(size_t offset)
{
	const struct device_field *f;
	size_t i = 0;

	while ((f = device_field(i)) && (offset < f->offset || offset >= f->offset + f->size))
		i++;
	return f;
}

/* A field that no row of diff.c knows would be edited and never published. */
DEFINE_TEST(every_field_of_a_device_has_its_change_bit)
{
	static const struct {
		size_t from, to;
	} own[] = {
		/* what the model numbers itself */
		{ offsetof(struct device, key), offsetof(struct device, key) + sizeof(struct key) },
		{ offsetof(struct device, birth),
		  offsetof(struct device, birth) + sizeof(uint64_t) },
		{ offsetof(struct device, generation),
		  offsetof(struct device, generation) + sizeof(uint64_t) }
	};
	size_t silent = 0, run = 0;

	for (size_t i = 0; i < sizeof(struct device); i++) {
		bool known = has_row(i);

		for (size_t k = 0; k < ARRAY_SIZE(own); k++)
			known |= i >= own[k].from && i < own[k].to;
		run = known ? 0 : run + 1;
		silent = run > silent ? run : silent;
	}
	/* Padding is at most as wide as what follows it. */
	CHECK(silent < sizeof(uint64_t));
}

static bool lies_in(size_t i, size_t from, size_t size)
{
	return i >= from && i < from + size;
}

/* If all others were full, the functions of derived[] would read on behind these. */
static bool leads_on(size_t i)
{
	return lies_in(i, offsetof(struct device, caps), sizeof(uint32_t)) ||
	       i == offsetof(struct device, facts.vfconf) + VFCONF_TEXT - 1;
}

/* A number that is coming back is shown, and is nothing that restore would be refused for. */
static bool is_shown_alone(size_t i, change_bits bits)
{
	return bits & CH_ASKED &&
	       lies_in(i, offsetof(struct device, intended_vfs), sizeof(int32_t));
}

/* Each byte in turn, but for those bits that no field has itself. */
static void compare_digests(const struct device *a, bool full)
{
	struct device b = *a;
	uint64_t of_a[64];
	size_t n = 0;

	for (change_bits bits = 1; bits < CH_END; bits <<= 1)
		of_a[n++] = device_digest(a, bits);
	for (size_t i = 0; i < sizeof(b); i++) {
		change_bits bits = 1, differ;

		if (full && leads_on(i))
			continue;
		((char *)&b)[i] ^= 1;
		differ = device_diff(a, &b);
		for (size_t k = 0; k < n; k++, bits <<= 1)
			if (!(bits & (CH_CLAIM | CH_NAME)) && !is_shown_alone(i, bits) &&
			    (of_a[k] != device_digest(&b, bits)) != !!(differ & bits))
				FAIL("byte %zu, bits %#llx", i, (unsigned long long)bits);
		((char *)&b)[i] ^= 1;
	}
}

/* Restore tries again what it was refused when the digest is another. */
DEFINE_TEST(every_field_of_a_device_is_in_its_digest)
{
	struct device a, b;

	memset(&a, 0, sizeof(a));
	compare_digests(&a, false);
	memset(&a, 'a', sizeof(a)); /* texts as long as there is room */
	a.caps = 0;
	a.facts.vfconf[VFCONF_TEXT - 1] = '\0';
	compare_digests(&a, true);
	b = a;
	STR_COPY(a.facts.driver, "ab");
	STR_COPY(b.facts.driver, "a");
	STR_COPY(a.facts.vfio_driver, "c");
	STR_COPY(b.facts.vfio_driver, "bc");
	CHECK(device_digest(&a, ~0u) != device_digest(&b, ~0u));
	STR_COPY(b.facts.driver, "ab"); /* whatever stands behind the text */
	STR_COPY(b.facts.vfio_driver, "c");
	CHECK_EQ(device_digest(&a, ~0u), device_digest(&b, ~0u));
}

/* An event names the files that read otherwise, and no others. */
DEFINE_TEST(what_no_file_shows_has_no_bit_of_a_file)
{
	struct device a = { .caps = CAP_PCI | CAP_CLAIM | CAP_NAMED }, b;

	STR_COPY(a.names.resource, "intel.com/NIC");
	b = a;
	b.facts.serial = 1;
	CHECK_EQ(device_diff(&a, &b), CH_INTERNAL);
	b = a;
	b.let_go = true;
	CHECK_EQ(device_diff(&a, &b), CH_INTERNAL);
	b = a;
	b.intent.n_owners = 1;
	CHECK_EQ(device_diff(&a, &b), CH_RIGHTS);
	b = a;
	STR_COPY(b.intent.pinned, "intel.com/NIC"); /* claimed: it is called so still */
	CHECK_EQ(device_diff(&a, &b), CH_OFFERED_AS);
	STR_COPY(a.names.resource, "intel.com/NEW");
	b = a;
	STR_COPY(b.intent.pinned, "intel.com/NIC");
	CHECK_EQ(device_diff(&a, &b), CH_OFFERED_AS | CH_NAME);
	b = a;
	b.facts.use = USE_GUEST;
	CHECK_EQ(device_diff(&a, &b), CH_INTERNAL);
	b = a;
	STR_COPY(b.facts.nodes, "/dev/vfio/devices/vfio0");
	CHECK_EQ(device_diff(&a, &b), CH_FACT(nodes));
}

DEFINE_TEST(a_vendors_file_tells_caps_and_a_kind)
{
	struct device d = { .key = pci_key("0000:01:00.0"), .facts = facts_none };

	d.facts.caps = CAP_RESET;
	d.facts.kind = KIND_VGPU;
	device_identify(&d);
	CHECK_EQ(d.caps, CAP_PCI | CAP_IDS | CAP_CLAIM | CAP_NAMED | CAP_RESET);
	CHECK_STR(kind_name(d.kind), "vgpu");
	d.facts.kind = KIND_COUNT;
	device_identify(&d);
	CHECK_STR(kind_name(d.kind), "pci");
}

/* The cause and the way out, of the file that somebody wrote to. */
DEFINE_TEST(who_writes_to_a_file_that_is_not_there_reads_why)
{
	static const struct {
		const char *file;
		uint32_t caps;
		const char *driver, *claim, *told;
	} rows[] = {
		{ "create", CAP_PCI | CAP_VGPU_HOST, "nvidia", "",
		  "driver nvidia of 0000:41:00.0 makes no mediated devices; load NVIDIA's vGPU host driver" },
		{ "create", CAP_PCI | CAP_VGPU_HOST, "", "",
		  "0000:41:00.0 has no driver and makes no mediated devices; load NVIDIA's vGPU host driver" },
		{ "create", CAP_PCI | CAP_VGPU_HOST, "vfio-pci", "alice",
		  "0000:41:00.0 is passed through as a whole; write none to its claim first" },
		{ "create", CAP_PCI | CAP_VGPU_HOST | CAP_TYPES, "nvidia", "",
		  "0000:41:00.0 makes vGPUs of its VFs; write a type to profile of a VF" },
		{ "create", CAP_PCI | CAP_TYPES | CAP_VGPU, "nvidia", "",
		  "0000:41:00.0 can be a vGPU itself; write a type to its profile" },
		{ "create", CAP_PCI, "ixgbe", "alice",
		  "driver ixgbe of 0000:41:00.0 makes no mediated devices; only a vGPU driver of a GPU does" },
		{ "profile", CAP_PCI | CAP_TYPES | CAP_CREATE, "nvidia", "",
		  "0000:41:00.0 makes mediated devices; write the type to create" },
		{ "profile", CAP_PCI | CAP_VGPU_HOST, "nvidia", "",
		  "0000:41:00.0 has no vGPUs; its vgpu_support says why" },
		{ "vgpu_params", CAP_PCI, "ixgbe", "",
		  "0000:41:00.0 is not a vGPU; only VFs and mediated devices of GPUs become one" },
		{ "enabled", CAP_PCI | CAP_NUMVFS, "ixgbe", "",
		  "0000:41:00.0 is not a GPU; write the number of its VFs to sriov_numvfs" },
		{ "sriov_numvfs", CAP_PCI | CAP_VF, "", "",
		  "0000:41:00.0 is a VF itself; write the number of VFs to its PF" },
		{ "claim", CAP_USB, "hub", "",
		  "0000:41:00.0 is a hub and cannot be claimed; claim a device on its ports" },
		{ "vlan", CAP_PCI | CAP_NIC, "ixgbe", "",
		  "0000:41:00.0 is not a VF of a network card, and only those have it" },
		{ "speed", CAP_PCI, "", "", "0000:41:00.0 has no speed; its kind is pci" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct device d = { .key = pci_key("0000:41:00.0"), .caps = rows[i].caps };
		struct err err;

		STR_COPY(d.facts.driver, rows[i].driver);
		STR_COPY(d.intent.claim, rows[i].claim);
		CHECK_EQ(device_lacks(&d, rows[i].file, &err), -EOPNOTSUPP);
		CHECK_STR(err.text, rows[i].told);
	}
}

/* A hash of all fields' places and lengths, and of their order when they are packed. */
static uint64_t layout(void)
{
	uint64_t sum = FNV1A + sizeof(struct device);
	const struct device_field *f;

	for (size_t i = 0; (f = device_field(i)); i++) {
		const size_t place[] = { f->offset, f->size };

		sum = fnv1a(sum, f->name, strlen(f->name));
		sum = fnv1a(sum, (const char *)place, sizeof(place));
	}
	return sum;
}

/* MODEL_ABI and their size identify a former process's records: fields that only change places need
 * a new number, or an upgrade confuses them. */
DEFINE_TEST(layout_has_its_number)
{
	if (sizeof(void *) != 8)
		SKIP("the number below is that of 64 bits");
	CHECK_EQ(MODEL_ABI, 53);
	if (layout() != 0x61029f43ff218ad6ull)
		FAIL("struct device has changed: count MODEL_ABI up, and note it here with %#llx",
		     (unsigned long long)layout());
}
