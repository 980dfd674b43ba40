// SPDX-License-Identifier: GPL-2.0-or-later
/* Layouts: what they ask for beside what is, and how they are refused. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "client/inventory.h"
#include "client/layout/layout.h"
#include "client/yaml.h"
#include "layoutlines.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"
#include "test.h"

#define HEAD "pcidevfs-inventory 1 generation=7 boot=b devices=9\n"
#define GPU "vendor=0x10de class=0x030200 sriov_totalvfs=4 kind=sriov-gpu claim=none pooled=1 "
#define VF "kind=vgpu vendor=0x10de class=0x030200 device=0x25b6 pooled=1 "

/* An A2 with four VFs, an A10 without, a T4-like card that makes mediated devices, a NIC, a stick. */
static const char machine[] = HEAD
	"0000:01:00.0 " GPU "device=0x25b6 enabled=1 sriov_numvfs=4\n"
	"0000:01:00.1 " VF
	"physfn=0000:01:00.0 profile=\"NVIDIA A2-4Q\" claim=admin state=claimed\n"
	"0000:01:00.2 " VF "physfn=0000:01:00.0 profile=\"NVIDIA A2-4Q\" claim=bob "
	"allocated_to=vms/vm/compute state=unhealthy\n"
	"0000:01:00.3 " VF "physfn=0000:01:00.0 profile=\"NVIDIA A2-4Q\" claim=none state=held\n"
	"0000:01:00.4 " VF "physfn=0000:01:00.0 profile=none claim=none state=free\n"
	"0000:02:00.0 " GPU "device=0x2236 enabled=0 sriov_numvfs=0\n"
	"0000:03:00.0 vendor=0x10de device=0x1eb8 class=0x030200 kind=pci claim=none\n"
	"0000:04:00.0 vendor=0x10de device=0x2330 class=0x030200 kind=pci\n"
	"0000:05:00.0 vendor=0x8086 device=0x10fb class=0x020000 kind=sriov-nic netdev=enp5s0 "
	"sriov_totalvfs=8 sriov_numvfs=2 claim=none iommu_group=7\n"
	"0000:05:10.0 vendor=0x8086 device=0x10ed kind=vf physfn=0000:05:00.0 claim=alice pooled=1 "
	"iommu_group=7\n"
	"0000:05:10.2 vendor=0x8086 device=0x10ed kind=vf physfn=0000:05:00.0 claim=none pooled=1\n"
	"mdev/70a78f40-0039-4f74-85f4-b4d8d1dd3cf4 kind=mdev parent=0000:03:00.0 "
	"profile=\"GRID T4-8Q\" claim=admin\n"
	"usb/1-1 vendor=0781 device=5581 kind=usb serial=4C53 claim=none\n";

#define A2 "name=\"NVIDIA A2-4Q\" id=1\nname=\"NVIDIA A2-8Q\" id=2\nname=\"NVIDIA A2-4C\" id=3"

#define LONG "NVIDIA RTXP6000-96C-VIRTUAL-WORKSTATION-OF-LONG-NAME-"
#define LONG_TYPES                                                                                 \
	"name=\"" LONG "1Q\"\nname=\"" LONG "2Q\"\nname=\"" LONG "3Q\"\nname=\"" LONG "4Q\""

static const struct {
	const char *id, *file, *text;
} files[] = {
	{ "0000:04:00.0", "profiles", LONG_TYPES },
	{ "0000:01:00.0", "profiles", A2 },
	{ "0000:01:00.0", "subsystem_vendor", "0x10de" },
	{ "0000:01:00.0", "subsystem_device", "0x157e" },
	{ "0000:06:00.0", "subsystem_vendor", "0x10de" },
	{ "0000:06:00.0", "subsystem_device", "0x14a9" },
	{ "0000:01:00.0", "vgpu_support", "yes" },
	{ "0000:02:00.0", "vgpu_support", "no: its VFs are not enabled" },
	{ "0000:02:00.0", "mig/mode", "0" },
	{ "0000:02:00.0", "mig/layout", "none" },
	{ "0000:04:00.0", "mig/mode", "1" },
	{ "0000:04:00.0", "mig/layout", "3g.20gb 1g.5gb*2" },
	{ "0000:03:00.0", "create", "write" },
	{ "0000:03:00.0", "profiles",
	  "name=\"GRID T4-8Q\" id=nvidia-1\nname=\"GRID T4-4Q\" id=nvidia-2" },
	{ "0000:03:00.0", "vgpu_support", "yes" },
	{ "0000:05:10.0", "mac", "02:00:00:00:00:01" },
	{ "0000:05:10.2", "mac", "02:00:00:00:ab:02" },
	{ "0000:01:00.2", "vgpu_params", "a=1" },
};

static char *text_of(void *ctx, const char *id, const char *file)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (id && !strcmp(files[i].id, id) && !strcmp(files[i].file, file))
			return strdup(files[i].text);
	return id ? NULL
		  : strdup("0000:05:10.2 state=held device=0000:05:10.2 mac=02:00:00:00:ab:02 "
			   "identity=0000:00/1.0,8086:10fb::,none,vf3 at=0000:05:10.2\n"
			   "0000:02:00.3 state=waiting device=none profile=\"NVIDIA A10-4Q\" "
			   "identity=0000:00/2.0,10de:2236::,none,vf2 at=0000:02:00.3\n");
}

static const char *asked(const char *text, const char *name)
{
	return layout_lines(machine, text, name, text_of, NULL, false);
}

#define VGPUS(devices, types)                                                                      \
	"version: v1\nvgpu-configs:\n x:\n - devices: " devices "\n   vgpu-devices: " types "\n"
#define OURS(entry) "version: v1\nlayouts: {now: [{" entry "}]}"
#define P2 "0000:01:00.2/profile "

DEFINE_TEST(a_layout_of_vgpus_keeps_what_is_right)
{
	static const char *const rows[][2] = {
		/* The one that is in use stays; one of others is taken over, the third ends. */
		{ VGPUS("[0]", "{A2-4Q: 3}"), "0000:01:00.3/profile NVIDIA A2-4Q (takes)" },
		{ VGPUS("[0]", "{A2-4Q: 2}"),
		  "0000:01:00.3/profile NVIDIA A2-4Q (takes); 0000:01:00.1/profile none" },
		{ VGPUS("[0]", "{A2-4Q: 1}"),
		  "0000:01:00.1/profile none; 0000:01:00.3/profile none" },
		/* A new one where there is none first, then in place of others. */
		{ VGPUS("[0]", "{NVIDIA A2-8Q: 2}"),
		  "0000:01:00.4/profile NVIDIA A2-8Q; 0000:01:00.1/profile NVIDIA A2-8Q; " P2
		  "none; 0000:01:00.3/profile none" },
		{ VGPUS("[0]", "{}"),
		  "0000:01:00.1/profile none; " P2 "none; 0000:01:00.3/profile none" },
		{ VGPUS("[0]", "{A2-4Q: 5}"),
		  "f:5: 0000:01:00.0 has 4 VFs for vGPUs: 1 of NVIDIA A2-4Q find no place" },
		{ VGPUS("[0]", "{A2-1Q: 1}"),
		  "f:5: 0000:01:00.0 has no vGPU type \"A2-1Q\"; it has NVIDIA A2-4Q, NVIDIA A2-8Q, "
		  "NVIDIA A2-4C" },
		/* VFs are made, and what is stored of the others is dropped. */
		{ VGPUS("[1]", "{A10-12Q: 2}"),
		  "0000:02:00.0/enabled 1; 0000:02:00.0/virtfn0/profile A10-12Q; "
		  "0000:02:00.0/virtfn1/profile A10-12Q; 0000:02:00.0/virtfn2/profile none (hidden)" },
		{ VGPUS("[1]", "{}"), "" },
		{ VGPUS("[1]", "{A10-1-5CME: 2}"), /* also the instances that they lie in */
		  "0000:02:00.0/mig/mode 1; 0000:02:00.0/mig/layout 1g.5gb+me*2; 0000:02:00.0/enabled 1; "
		  "0000:02:00.0/virtfn0/profile A10-1-5CME; 0000:02:00.0/virtfn1/profile A10-1-5CME; "
		  "0000:02:00.0/virtfn2/profile none (hidden)" },
		{ VGPUS("[1]", "{A10-1-24QGFX: 1, A10-4Q: 1}"),
		  "f:5: vGPUs in MIG instances and others cannot share a card" },
		/* A card that makes mediated devices of itself. */
		{ VGPUS("[2]", "{T4-8Q: 2}"), "0000:03:00.0/create \"GRID T4-8Q\"" },
		{ VGPUS("[2]", "{T4-4Q: 2}"),
		  "mdev/70a78f40-0039-4f74-85f4-b4d8d1dd3cf4/profile none; 0000:03:00.0/create \"GRID "
		  "T4-4Q\"; 0000:03:00.0/create \"GRID T4-4Q\"" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_STR(asked(rows[i][0], "x"), rows[i][1]);
}

#define FILTER(id, types) " - {device-filter: \"" id "\", devices: all, vgpu-devices: " types "}\n"
#define CONFIG "version: v1\nvgpu-configs:\n x:\n"

/* As NVIDIA's default configuration has them for the A16 and the A2. */
DEFINE_TEST(of_two_entries_for_one_device_id_that_of_its_types_counts)
{
	static const char *const rows[][2] = {
		{ CONFIG FILTER("0x25B610DE", "{A16-8Q: 2}") FILTER("0x25B610DE", "{A2-4Q: 3}"),
		  "0000:01:00.3/profile NVIDIA A2-4Q (takes)" },
		{ CONFIG FILTER("0x25B610DE", "{A2-4Q: 3}") FILTER("0x25B610DE", "{A16-8Q: 2}"),
		  "0000:01:00.3/profile NVIDIA A2-4Q (takes)" },
		{ CONFIG FILTER("0x25B610DE", "{A16-8Q: 2}") FILTER("0x25B610DE", "{L4-4Q: 3}"),
		  "f:4: 0000:01:00.0 has no vGPU type \"A16-8Q\"; it has NVIDIA A2-4Q, NVIDIA A2-8Q, "
		  "NVIDIA A2-4C" },
		{ CONFIG FILTER("0x25B610DE", "{A2-4Q: 2}") FILTER("0x25B610DE", "{A2-4Q: 3}"),
		  "f:5: line 4 says otherwise which vGPUs 0000:01:00.0 is to have" },
		{ CONFIG FILTER("0x223610DE", "{A10-4Q: 2}") FILTER("0x223610DE", "{A2-8Q: 1}"),
		  "f:5: line 4 says otherwise which vGPUs 0000:02:00.0 is to have; which types are its "
		  "own is not known before its VFs exist: write 1 to its enabled first" },
		{ CONFIG FILTER("0x25B610DE", "{A2-4Q: 3}") FILTER("0x25B610DE", "{A2-4Q: 3}"),
		  "0000:01:00.3/profile NVIDIA A2-4Q (takes)" },
		{ CONFIG FILTER("0x999910DE", "{A2-4Q: 3}"),
		  "f:3: the layout is about no device of this machine" },
		{ CONFIG FILTER("25b6", "{A2-4Q: 3}"),
		  "f:4: \"25b6\" is not a device-filter; write a device and its vendor, for example "
		  "0x25B610DE" },
		{ CONFIG FILTER("0x25B610DE:0x157E10DE", "{A2-4Q: 3}"),
		  "0000:01:00.3/profile NVIDIA A2-4Q (takes)" },
		{ CONFIG FILTER("0x25B610DE:0x14A910DE", "{A2-4Q: 3}"),
		  "f:3: the layout is about no device of this machine" },
		{ CONFIG
		  " - {device-filter: [0x25B610DE:0x14A910DE, 0x25b610de:0x157e10de], devices: all, "
		  "vgpu-devices: {A2-4Q: 3}}\n",
		  "0000:01:00.3/profile NVIDIA A2-4Q (takes)" },
		{ CONFIG FILTER("0x223610DE:0x157E10DE",
				"{A10-4Q: 3}"), /* whose board is not told */
		  "f:3: the layout is about no device of this machine" },
		{ CONFIG FILTER("0x25B610DE:", "{A2-4Q: 3}"),
		  "f:4: \"0x25B610DE:\" is not a device-filter; write a device and its vendor, for "
		  "example 0x25B610DE" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_STR(asked(rows[i][0], "x"), rows[i][1]);
}

/* Before they have VFs, whose driver tells the types. */
DEFINE_TEST(boards_of_one_device_id_are_told_apart_by_their_subsystems)
{
	static const char both[] =
		CONFIG FILTER("0x25B610DE", "{A16-8Q: 1}") FILTER("0x25B610DE", "{A2-8Q: 1}");
	static const char a2_only[] = CONFIG FILTER("0x25B610DE", "{NVIDIA A2-8Q: 1}");
	static const char a16[] = HEAD "0000:06:00.0 " GPU "device=0x25b6 enabled=0\n";
	static const char unknown[] = HEAD "0000:07:00.0 " GPU "device=0x25b6 enabled=0\n";

	CHECK_STR(layout_lines(a16, both, "x", text_of, NULL, false),
		  "0000:06:00.0/enabled 1; 0000:06:00.0/virtfn0/profile A16-8Q; "
		  "0000:06:00.0/virtfn2/profile none (hidden)");
	CHECK_STR(layout_lines(a16, a2_only, "x", text_of, NULL, false),
		  "f:4: 0000:06:00.0 is another board than that of \"NVIDIA A2-8Q\"");
	CHECK_IN(layout_lines(unknown, both, "x", text_of, NULL, false),
		 "write 1 to its enabled first");
	CHECK_STR(layout_lines(unknown, a2_only, "x", text_of, NULL, false),
		  "0000:07:00.0/enabled 1; 0000:07:00.0/virtfn0/profile NVIDIA A2-8Q; "
		  "0000:07:00.0/virtfn2/profile none (hidden)");
}

DEFINE_TEST(a_layout_of_our_form_says_all_that_the_tree_can)
{
	static const char *const rows[][2] = {
		{ OURS("match: {netdev: enp5s0}, sriov_numvfs: 2, vfs: {0: {claim: alice}, 1: {claim: bob}}"),
		  "0000:05:10.2/claim bob" },
		/* Other VFs take the place of those that are there. */
		{ OURS("match: {netdev: enp5s0}, sriov_numvfs: 4, vfs: {0-1: {claim: alice}, 3: {mac: none}}"),
		  "0000:05:00.0/sriov_numvfs 4; 0000:05:00.0/virtfn0/claim alice; "
		  "0000:05:00.0/virtfn1/claim alice" },
		{ OURS("match: {netdev: enp5s0}, vfs: {2: {claim: alice}}"),
		  "f:2: 0000:05:00.0 has no VF 2; ask for more by its sriov_numvfs or enabled" },
		{ OURS("match: {serial: 4c53}, claim: carol"), "usb/1-1/claim carol" },
		{ OURS("match: {ids: \"0781:5581\"}, claim: carol"), "usb/1-1/claim carol" },
		{ OURS("match: {ids: \"8086:10fb\", kind: sriov-nic}, claim: carol"),
		  "0000:05:00.0/claim carol" },
		{ OURS("match: {ids: \"8086:10fb\", kind: usb}, claim: carol"),
		  "f:2: the layout is about no device of this machine" },
		{ OURS("match: {address: [01:00.1, 01:00.4]}, profile: A2-4Q"),
		  "0000:01:00.4/profile A2-4Q" },
		/* Those that the layout tells by number are not among the counted. */
		{ OURS("match: {address: 01:00.0}, vfs: {0: {profile: A2-4C}}, vgpus: {A2-4Q: 2}"),
		  "0000:01:00.1/profile A2-4C" },
		{ OURS("match: {address: 02:00.0}, mig/mode: true, mig/layout: \"1g.5gb 2g.10gb\""),
		  "0000:02:00.0/mig/mode 1; 0000:02:00.0/mig/layout 1g.5gb 2g.10gb" },
		{ OURS("match: {address: 04:00.0}, mig/mode: yes, mig/layout: \"1g.5gb 1g.5gb 3g.20gb\""),
		  "" },
		/* A name of a type, or the letters of a MAC address, may be written in two ways. */
		{ OURS("match: {address: 01:00.4}, profile: A2-4C}, {match: {address: 01:00.4}, "
		       "profile: NVIDIA A2-4C"),
		  "0000:01:00.4/profile A2-4C" },
		{ OURS("match: {address: 05:10.0}, mac: 02:00:00:00:00:01}, {match: {address: 05:10.2}, "
		       "mac: 02:00:00:00:AB:02"),
		  "" },
		/* Of one IOMMU group, and so already. */
		{ OURS("match: {address: 05:10.0}, claim: alice}, {match: {address: 05:00.0}, claim: none"),
		  "" },
		/* What is stored of a VF that is not there would come with it. */
		{ OURS("match: {address: 02:00.0}, enabled: 1, vfs: {1-2: {profile: none}, 3: {mac: none}}"),
		  "0000:02:00.0/enabled 1; 0000:02:00.0/virtfn2/profile none (hidden)" },
		/* GPUs whose driver makes the VFs have no number to be written. */
		{ OURS("match: all, sriov_numvfs: 1"), "0000:05:00.0/sriov_numvfs 1" },
		{ OURS("match: all, pooled: off"), "0000:01:00.0/pooled 0; 0000:02:00.0/pooled 0" },
		{ OURS("match: {kind: vf}, pooled: 0"),
		  "0000:05:10.0/pooled 0; 0000:05:10.2/pooled 0" },
		/* Others' stays theirs if it is to have no claim. */
		{ OURS("match: {address: 01:00.3}, profile: NVIDIA A2-4Q, claim: none"), "" },
		/* vgpu_params and claims go with the vGPU. */
		{ OURS("match: {address: 01:00.2}, profile: none, claim: none, vgpu_params: none"),
		  P2 "none" },
		{ "version: v1\nlayouts: {now: []}", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_STR(asked(rows[i][0], NULL), rows[i][1]);
}

DEFINE_TEST(what_is_no_layout_is_refused_with_its_line)
{
	static const char *const rows[][2] = {
		{ "", "f: the file is empty" },
		{ "a: 1\n\tb: 2\n", "f:2: this is not YAML" },
		{ "[]", "f:1: a layout file is a map" },
		{ "kind: ConfigMap\napiVersion: v1\n", "f:2: this is a manifest of Kubernetes" },
		{ "version: v2\nlayouts: {}",
		  "f:1: version \"v2\" is not known; this program reads v1" },
		{ "layouts: {a: []}", "f:1: the file has no version" },
		{ "version: v1", "f:1: the file has none of layouts" },
		{ "version: v1\nlayouts: {a: []}\nvgpu-configs: {}",
		  "f:3: vgpu-configs: the file has layouts" },
		{ "version: v1\nx: 1", "f:2: \"x\" is not one of version" },
		{ "version: v1\nlayouts: []", "f:2: layouts must be a map" },
		{ "version: v1\nlayouts: {b: [], a: []}",
		  "f:2: the file has 2 layouts; name one of them: b, a" },
		{ "version: v1\nlayouts:\n  a: 1", "f:3: a layout is a list" },
		{ "version: v1\nlayouts:\n  a: []\n  a: []", "f:4: \"a\" comes twice" },
		{ "version: v1\nlayouts: &x {a: []}", "f:2: anchors, aliases" },
		{ "version: v1\n---\nlayouts: {a: []}", "f:2: a second document" },
		{ OURS("claim: x"), "f:2: the entry lacks match" },
		{ OURS("match: every, claim: x"), "f:2: an entry needs match: all" },
		{ OURS("match: {}, claim: x"), "f:2: an entry needs match: all" },
		{ OURS("match: {colour: red}, claim: x"), "f:2: \"colour\" is not a way to match" },
		{ OURS("match: {serial: 3}, claim: x"), "f:2: no device is called \"3\"" },
		{ OURS("match: {address: 09:00.0}, claim: x"),
		  "f:2: no device is called \"09:00.0\"" },
		{ OURS("match: {address: 05:00.0/virtfn1}, claim: x"),
		  "a VF is told by its number below vfs" },
		{ OURS("match: {address: [05:00.0, enp5s0]}, claim: x"),
		  "f:2: enp5s0 comes twice" },
		{ OURS("match: all, reset: 1"),
		  "f:2: \"reset\" is not a key of layouts, nor a file" },
		{ OURS("match: all, vfs: {0: {reset: 1}}"),
		  "f:2: \"reset\" is not a file that a layout may set" },
		{ OURS("match: all, vfs: {3-1: {claim: x}}"),
		  "f:2: \"3-1\" is not the number of a VF" },
		{ OURS("match: all, vfs: {1-: {claim: x}}"),
		  "f:2: \"1-\" is not the number of a VF" },
		{ OURS("match: all, claim: [x]"), "f:2: claim must be one value" },
		{ OURS("match: all, claim: \"a\\nb\""), "f:2: claim must be one line" },
		{ OURS("match: all, pooled: 2"), "f:2: pooled is \"2\"; write 0 or 1" },
		{ OURS("match: {address: 05:00.0}, vgpus: {A: 1}"),
		  "f:2: 0000:05:00.0 has no vGPUs: it is not a GPU" },
		{ "version: v1\nlayouts:\n  a:\n  - {match: {address: 05:10.0}, claim: x}\n"
		  "  - {match: {address: 05:00.0}, vfs: {0: {claim: y}}}",
		  "f:5: claim of 0000:05:10.0 is to be y, and line 4 says x" },
		/* An IOMMU group has one owner, also where one of them needs nothing. */
		{ OURS("match: {address: 05:00.0}, claim: none}, {match: {address: 05:10.0}, claim: x"),
		  "f:2: claim of 0000:05:10.0 is to be x, and line 2 says none of 0000:05:00.0, which "
		  "shares IOMMU group 7 with it" },
		{ "version: v1\nlayouts:\n  a:\n  - {match: {address: 05:00.0}, claim: x}\n"
		  "  - {match: {address: 05:10.0}, claim: alice}",
		  "f:5: claim of 0000:05:10.0 is to be alice, and line 4 says x of 0000:05:00.0" },
		/* vGPUs without the VFs that they are. */
		{ OURS("match: {address: 01:00.0}, enabled: 0, vgpus: {A2-4Q: 1}"),
		  "f:2: enabled of 0000:01:00.0 is to be 1, and line 2 says 0" },
		{ "version: v1\nlayouts:\n  a:\n  - {match: {ids: \"10de:2236\"}, enabled: 0}\n"
		  "  - {match: {address: 02:00.0}, vgpus: {A10-4Q: 1}}",
		  "f:5: enabled of 0000:02:00.0 is to be 1, and line 4 says 0" },
		{ VGPUS("[0, 0]", "{}"), "f:4: 0 comes twice in devices" },
		{ VGPUS("[4]", "{}"),
		  "f:4: there is no GPU 4; this machine has 4, and the first is 0" },
		{ VGPUS("some", "{}"), "f:4: devices must be all, or a list" },
		{ VGPUS("[x]", "{}"), "f:4: \"x\" is not the number of a GPU" },
		{ VGPUS("all", "{A2-4Q: 0}"), "f:5: A2-4Q: \"0\" is not a number of vGPUs" },
		{ VGPUS("all", "[A2-4Q]"), "f:5: the vGPUs must be a map" },
		{ VGPUS("[0]", "{A2-4Q: 1, NVIDIA A2-4Q: 1}"), "f:5: NVIDIA A2-4Q comes twice" },
		{ CONFIG " - {devices: all}\n", "f:4: the entry lacks vgpu-devices" },
		{ CONFIG " - {devices: all, vgpu-devices: {}, x: 1}\n",
		  "f:4: \"x\" is not a key of" },
		{ CONFIG " - 1\n", "f:4: an entry must be a map" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_IN(asked(rows[i][0], NULL), rows[i][1]);
	CHECK_STR(asked("\xef\xbb\xbfversion: v1\nlayouts: {a: []}", "a"), "");
	/* Not all types of a card need fit. */
	CHECK_STR(asked(VGPUS("[3]", "{A2-4Q: 1}"), "x"),
		  "f:5: 0000:04:00.0 has no vGPU type \"A2-4Q\"; it has " LONG "1Q, " LONG
		  "2Q, " LONG "3Q, ...");
	CHECK_IN(asked("version: v1\nlayouts: {b: [], a: []}", "c"),
		 "f:2: there is no \"c\"; the file has b, a");
}

/* All types that NVIDIA names. */
DEFINE_TEST(nvidias_own_configurations_are_read)
{
	_free_ char *text = file_text(AT_FDCWD, "tests/data/vgpu-configs.yaml");
	struct tree_inventory inv = { 0 };
	struct layout_view view = { .inv = &inv, .text = text_of };
	json_object *root = NULL;
	struct err err = { 0 };
	size_t n = 0;

	CHECK(text != NULL);
	CHECK_EQ(yml_read(text, strlen(text), &root, &err), 0);
	CHECK_EQ(tree_inventory_parse(strdup(HEAD "0000:02:00.0 vendor=0x10de device=0x2236 "
						  "class=0x030200 enabled=0 sriov_totalvfs=64\n"),
				      &inv, &err),
		 0);
	json_object_object_foreach(json_object_object_get(root, "vgpu-configs"), name, entries)
	{
		struct layout l;
		bool of_cards = json_object_array_length(entries) > 1, made = false;
		int r = layout_read("f", text, strlen(text), name, &view, &l, &err);

		/* The default has an entry for each card, of two types for some. */
		CHECK_STR(r && !of_cards ? err.text : "", "");
		for (size_t i = 0; i < l.n && !made; i++)
			made = !strncmp(l.v[i].value, name, strlen(l.v[i].value)) &&
			       !strcmp(l.v[i].file, "profile");
		CHECK(made || of_cards);
		layout_free(&l);
		n++;
	}
	CHECK_EQ(n, 711);
	json_object_put(root);
	tree_inventory_free(&inv);
}

static void check_export(const char *form, const char *want)
{
	struct tree_inventory inv = { 0 };
	struct layout_view view = { .inv = &inv, .text = text_of };
	struct err err = { 0 };
	struct out out = { 0 };

	CHECK_EQ(tree_inventory_parse(strdup(machine), &inv, &err), 0);
	if (layout_export(&view, form, &out, &err))
		out_printf(&out, "%s", err.text);
	CHECK_STR(out_text(&out), want);
	if (!err.code && !strcmp(form, "layouts"))
		CHECK_STR(asked(out_text(&out), "now"), "");
	tree_inventory_free(&inv);
	out_free(&out);
}

DEFINE_TEST(what_is_exported_changes_nothing)
{
	check_export("layouts",
		     "version: v1\nlayouts:\n  now:\n"
		     "    - match: {address: \"0000:01:00.0\"} # \n"
		     "      enabled: 1\n      vfs:\n"
		     "        0: {profile: \"NVIDIA A2-4Q\", claim: admin}\n"
		     "        1: {profile: \"NVIDIA A2-4Q\", vgpu_params: \"a=1\", claim: bob}\n"
		     "    - match: {address: \"0000:03:00.0\"} # \n"
		     "      vgpus: {\"GRID T4-8Q\": 1}\n"
		     "    - match: {address: \"0000:04:00.0\"} # \n"
		     "      mig/mode: 1\n      mig/layout: \"3g.20gb 1g.5gb*2\"\n"
		     "    - match: {address: \"0000:05:00.0\"} # \n"
		     "      sriov_numvfs: 2\n      vfs:\n"
		     "        0: {claim: alice}\n"
		     "        1: {mac: \"02:00:00:00:ab:02\"}\n");
	check_export("vgpu-configs",
		     "# not said here: vgpu_params of 0000:01:00.2 is a=1\n"
		     "# not said here: 0000:01:00.2 is claimed by bob\n"
		     "# not said here: mig/mode of 0000:04:00.0 is 1\n"
		     "# not said here: mig/layout of 0000:04:00.0 is 3g.20gb 1g.5gb*2\n"
		     "# not said here: sriov_numvfs of 0000:05:00.0 is 2\n"
		     "# not said here: 0000:05:10.0 is claimed by alice\n"
		     "# not said here: mac of 0000:05:10.2 is 02:00:00:00:ab:02\n"
		     "version: v1\nvgpu-configs:\n  now:\n"
		     "    - devices: [0] # 0000:01:00.0\n      vgpu-devices: {A2-4Q: 3}\n"
		     "    - devices: [1] # 0000:02:00.0\n      vgpu-devices: {}\n"
		     "    - devices: [2] # 0000:03:00.0\n      vgpu-devices: {T4-8Q: 1}\n"
		     "    - devices: [3] # 0000:04:00.0\n      vgpu-devices: {}\n");
	check_export(
		"mig-configs",
		"# not said here: enabled of 0000:01:00.0 is 1\n"
		"# not said here: profile of 0000:01:00.1 is NVIDIA A2-4Q\n"
		"# not said here: profile of 0000:01:00.2 is NVIDIA A2-4Q\n"
		"# not said here: vgpu_params of 0000:01:00.2 is a=1\n"
		"# not said here: 0000:01:00.2 is claimed by bob\n"
		"# not said here: sriov_numvfs of 0000:05:00.0 is 2\n"
		"# not said here: 0000:05:10.0 is claimed by alice\n"
		"# not said here: mac of 0000:05:10.2 is 02:00:00:00:ab:02\n"
		"version: v1\nmig-configs:\n  now:\n"
		"    - devices: [0] # 0000:01:00.0\n      mig-enabled: false\n      mig-devices: {}\n"
		"    - devices: [1] # 0000:02:00.0\n      mig-enabled: false\n      mig-devices: {}\n"
		"    - devices: [2] # 0000:03:00.0\n      mig-enabled: false\n      mig-devices: {}\n"
		"    - devices: [3] # 0000:04:00.0\n      mig-enabled: true\n"
		"      mig-devices: {3g.20gb: 1, 1g.5gb: 2}\n");
	check_export("csv", "\"csv\" is not a form; write layouts, vgpu-configs or mig-configs");
}

DEFINE_TEST(a_refusal_of_the_tree_names_the_line)
{
	struct layout_line lines[] = {
		{ .id = (char *)"0000:01:00.0", .file = "enabled", .line = 3 },
		{ .id = (char *)"0000:01:00.0/virtfn1", .file = "profile", .line = 5 },
	};
	struct layout l = { .path = (char *)"f", .v = lines, .n = 2 };
	struct err err = { 0 };

	fail(&err, EBUSY, "0000:01:00.0/virtfn1/profile: no");
	layout_blame(&l, &err);
	CHECK_STR(err.text, "f:5: 0000:01:00.0/virtfn1/profile: no");
	fail(&err, EBUSY, "0000:01:00.0/enabled: no");
	layout_blame(&l, &err);
	CHECK_STR(err.text, "f:3: 0000:01:00.0/enabled: no");
	fail(&err, EBUSY, "ctl: no");
	layout_blame(&l, &err);
	CHECK_STR(err.text, "ctl: no");
	fail(&err, EACCES, "ctl: no"); /* none may be written: the first asks for it */
	layout_blame(&l, &err);
	CHECK_STR(err.text, "f:3: ctl: no");
	/* An own ctl does not name its device. */
	fail(&err, EBUSY, "enabled: no");
	layout_blame(&l, &err);
	CHECK_STR(err.text, "f:3: 0000:01:00.0/enabled: no");
	fail(&err, EBUSY, "virtfn1/profile: no");
	layout_blame(&l, &err);
	CHECK_STR(err.text, "f:5: 0000:01:00.0/virtfn1/profile: no");
}
