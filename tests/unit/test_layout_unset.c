// SPDX-License-Identifier: GPL-2.0-or-later
/* Layouts that say what shall not be, and values that a file reads in other words: nothing is asked
 * twice, and nothing that cannot be. */
#include <stdlib.h>
#include <string.h>

#include "layoutlines.h"
#include "pcidevfs/device.h"
#include "pcidevfs/util.h"
#include "test.h"

/* A GPU with two VFs, one without, a NIC with two and one without, a stick. */
static const char few[] =
	"pcidevfs-inventory 1 generation=7 boot=b devices=10\n"
	"0000:01:00.0 kind=sriov-gpu claim=none pooled=1 enabled=1 sriov_numvfs=2\n"
	"0000:01:00.1 kind=vgpu physfn=0000:01:00.0 profile=\"NVIDIA A2-4Q\" claim=admin pooled=1\n"
	"0000:01:00.2 kind=vgpu physfn=0000:01:00.0 profile=none claim=none pooled=1\n"
	"0000:01:00.3 kind=vgpu physfn=0000:01:00.0 profile=\"NVIDIA A2-4Q\" claim=none pooled=1\n"
	"0000:02:00.0 kind=sriov-gpu claim=none pooled=1 enabled=0 sriov_numvfs=0\n"
	"0000:05:00.0 kind=sriov-nic vendor=0x8086 device=0x10fb claim=none sriov_numvfs=2\n"
	"0000:05:10.0 kind=vf physfn=0000:05:00.0 claim=alice pooled=0\n"
	"0000:05:10.2 kind=vf physfn=0000:05:00.0 claim=none pooled=1\n"
	"0000:06:00.0 kind=sriov-nic claim=none sriov_numvfs=0 sriov_totalvfs=4\n"
	"usb/1-1 vendor=0781 device=5581 kind=usb serial=4C53 claim=none\n";

static const struct {
	const char *id, *file, *text;
} few_texts[] = {
	{ "0000:01:00.0", "scheduler", "equal-share timeslice_us=2000 arr=0" },
	{ "0000:01:00.0", "mixed_sizes", "1" },
	{ "0000:01:00.0", "mig/mode", "1" },
	{ "0000:02:00.0", "scheduler", "none" },
	{ "0000:06:00.0", "scheduler", "equal-share timeslice_us=3003 arr=1" },
	{ "0000:05:10.0", "vlan", "100" },
	{ "0000:05:10.0", "trust", "1" },
	{ "0000:05:10.2", "vlan", "0" },
	{ "0000:05:10.2", "trust", "none" },
	{ "0000:05:10.2", "spoofchk", "1" },
	{ "0000:05:10.2", "mac", "02:00:00:00:ab:02" },
};

static char *few_text(void *ctx, const char *id, const char *file)
{
	for (size_t i = 0; i < ARRAY_SIZE(few_texts); i++)
		if (id && !strcmp(few_texts[i].id, id) && !strcmp(few_texts[i].file, file))
			return strdup(few_texts[i].text);
	return id ? NULL
		  : strdup("0000:05:10.0 state=claimed device=0000:05:10.0 claim=alice vlan=100\n"
			   "0000:06:00.3 state=waiting device=none mac=02:00:00:00:ab:03 "
			   "identity=0000:00/2.0,8086:10fb::,none,vf2 at=0000:06:00.3\n");
}

static const char *few_lines(const char *text)
{
	return layout_lines(few, text, NULL, few_text, NULL, false);
}

#define ENTRY(entry) "version: v1\nlayouts: {now: [{" entry "}]}"

DEFINE_TEST(a_layout_asks_for_no_vf_that_it_removes)
{
	static const char *const rows[][2] = {
		{ ENTRY("match: {address: 01:00.0}, enabled: 0, vfs: {0: {profile: A2-4Q}}"),
		  "f:2: profile of 0000:01:00.1 is to be A2-4Q, and line 2 says that 0000:01:00.0 has "
		  "no VFs: enabled 0" },
		{ ENTRY("match: {address: 05:00.0}, vfs: {3: {vlan: 7}}, sriov_numvfs: 0"),
		  "f:2: vlan of 0000:05:00.0/virtfn3 is to be 7, and line 2 says that 0000:05:00.0 has "
		  "no VFs: sriov_numvfs 0" },
		{ ENTRY("match: {address: 05:10.0}, claim: alice}, {match: {address: 05:00.0}, "
			"sriov_numvfs: none"),
		  "f:2: claim of 0000:05:10.0 is to be alice, and line 2 says that 0000:05:00.0 has no "
		  "VFs: sriov_numvfs 0" },
		{ ENTRY("match: {address: 06:00.0}, vfs: {0: {claim: x}}, sriov_numvfs: 0"),
		  "f:2: claim of 0000:06:00.0/virtfn0 is to be x, and line 2 says that 0000:06:00.0 "
		  "has no VFs: sriov_numvfs 0" },
		{ ENTRY("match: {address: 06:00.0}, vfs: {0: {claim: x}}"),
		  "f:2: 0000:06:00.0 has no VF 0; ask for more by its sriov_numvfs or enabled" },
		{ ENTRY("match: {address: 06:00.0}, vfs: {3: {claim: x}}"),
		  "f:2: 0000:06:00.0 has no VF 3; ask for more by its sriov_numvfs or enabled" },
		{ ENTRY("match: {address: 06:00.0}, vfs: {4: {claim: x}}"),
		  "f:2: 0000:06:00.0 has no VF 4; it can have 4, of which the first is 0" },
		{ ENTRY("match: {address: 1-1}, vfs: {0: {claim: x}}"),
		  "f:2: usb/1-1 cannot have VFs" },
		{ ENTRY("match: {address: 01:00.0}, enabled: 0, vfs: {0: {profile: none}}"),
		  "0000:01:00.0/enabled 0; 0000:01:00.1/profile none" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_STR(few_lines(rows[i][0]), rows[i][1]);
}

/* Once and again. */
DEFINE_TEST(a_vf_that_is_not_there_has_nothing_to_lose)
{
	static const char *const rows[][2] = {
		{ ENTRY("match: {address: 05:00.0}, sriov_numvfs: 0, vfs: {0-3: {claim: none}}"),
		  "0000:05:00.0/sriov_numvfs 0; 0000:05:10.0/claim none" },
		{ ENTRY("match: {address: 06:00.0}, sriov_numvfs: 0, vfs: {0-3: {claim: none, mac: none}}"),
		  "" },
		{ ENTRY("match: {address: 06:00.0}, vfs: {0-3: {pooled: 1}}"), "" },
		/* Those that others replace lose it before. */
		{ ENTRY("match: {address: 05:00.0}, sriov_numvfs: 4, vfs: {0-1: {claim: none, vlan: 7}}"),
		  "0000:05:00.0/sriov_numvfs 4; 0000:05:10.0/claim none; 0000:05:00.0/virtfn0/vlan 7; "
		  "0000:05:00.0/virtfn1/vlan 7" },
		{ ENTRY("match: {address: 05:00.0}, sriov_numvfs: 4, vfs: {0: {claim: none}}}, "
			"{match: {address: 05:00.0}, vfs: {0: {claim: bob}}"),
		  "f:2: claim of 0000:05:00.0/virtfn0 is to be bob, and line 2 says none" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_STR(few_lines(rows[i][0]), rows[i][1]);
}

DEFINE_TEST(none_unsets_what_was_asked_for)
{
	static const char *const rows[][2] = {
		{ ENTRY("match: {address: 05:00.0}, vfs: {0: {vlan: none, trust: none}}"),
		  "0000:05:10.0/vlan none" },
		{ ENTRY("match: {kind: vf}, mac: none, spoofchk: none, profile: none, mig/mode: none"),
		  "" },
		{ ENTRY("match: {address: 05:10.2}, vlan: none, trust: none, spoofchk: none"), "" },
		{ ENTRY("match: {address: 05:10.0}, pooled: none"), "0000:05:10.0/pooled 1" },
		{ ENTRY("match: {address: 01:00.0}, enabled: none, mig/mode: none, mixed_sizes: none, "
			"scheduler: none"),
		  "0000:01:00.0/enabled 0; 0000:01:00.0/mig/mode 0; 0000:01:00.0/mixed_sizes 0; "
		  "0000:01:00.0/scheduler best-effort" },
		{ ENTRY("match: {address: 02:00.0}, enabled: none, mig/mode: none, mixed_sizes: none, "
			"scheduler: none"),
		  "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_STR(few_lines(rows[i][0]), rows[i][1]);
}

/* The tree takes them so, and reads them in its own way. */
DEFINE_TEST(a_number_may_be_written_in_several_ways)
{
	static const char *const rows[][2] = {
		{ ENTRY("match: {address: 05:10.0}, vlan: 0x64"), "" },
		{ ENTRY("match: {address: 05:10.0}, vlan: \"0100\""), "" },
		{ ENTRY("match: {address: 05:10.0}, vlan: 0x64}, {match: {address: 05:10.0}, vlan: 100"),
		  "" },
		{ ENTRY("match: {address: 05:10.0}, vlan: 0x65"), "0000:05:10.0/vlan 0x65" },
		{ ENTRY("match: {address: 05:10.0}, vlan: 100x"), "0000:05:10.0/vlan 100x" },
		{ ENTRY("match: {address: 05:00.0}, sriov_numvfs: 0x2, vfs: {0: {claim: alice}}"),
		  "" },
		{ ENTRY("match: {address: 05:00.0}, sriov_numvfs: 0x0, vfs: {0: {claim: alice}}"),
		  "f:2: claim of 0000:05:10.0 is to be alice, and line 2 says that 0000:05:00.0 has no "
		  "VFs: sriov_numvfs 0" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_STR(few_lines(rows[i][0]), rows[i][1]);
}

DEFINE_TEST(of_a_scheduler_the_words_that_are_asked_count)
{
	static const char *const rows[][2] = {
		{ "equal-share", "" },
		{ "equal-share arr=0 timeslice_us=2000", "" },
		{ "equal-share timeslice_us=3000",
		  "0000:01:00.0/scheduler equal-share timeslice_us=3000" },
		/* Of an average a second the driver takes whole ones. */
		{ "equal-share}, {match: {address: 06:00.0}, scheduler: equal-share timeslice_us=3000 arr=1",
		  "" },
		{ "best-effort", "0000:01:00.0/scheduler best-effort" },
		{ "equal-share}, {match: {address: 01:00.0}, scheduler: equal-share arr=0",
		  "f:2: scheduler of 0000:01:00.0 is to be equal-share arr=0, and line 2 says "
		  "equal-share" },
	};
	char text[300];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(text, sizeof(text), ENTRY("match: {address: 01:00.0}, scheduler: %s"),
			 rows[i][0]);
		CHECK_STR(few_lines(text), rows[i][1]);
	}
}

/* By its profile it becomes admin's; by a claim that is asked for as well, that one's. */
DEFINE_TEST(a_vgpu_of_others_that_is_taken_over_does_not_go)
{
	static const char *const rows[][2] = {
		{ ENTRY("match: {address: 01:00.3}, profile: A2-4Q"),
		  "0000:01:00.3/profile A2-4Q (takes)" },
		{ ENTRY("match: {address: 01:00.3}, profile: A2-4Q, claim: bob"),
		  "0000:01:00.3/profile A2-4Q (hidden); 0000:01:00.3/claim bob" },
		{ ENTRY("match: {address: 01:00.3}, profile: A2-8Q"),
		  "0000:01:00.3/profile A2-8Q; profile of 0000:01:00.3 goes: NVIDIA A2-4Q" },
		{ ENTRY("match: {address: 01:00.1}, profile: A2-4Q"), "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_STR(layout_lines(few, rows[i][0], NULL, few_text, NULL, true), rows[i][1]);
}

/* Devices that are not there are not refused: what cannot be one is. */
DEFINE_TEST(what_no_device_can_be_is_no_match)
{
	static const char *const rows[][2] = {
		{ "kind: [usb, gpu]",
		  "f:2: \"gpu\" is not a kind; write one of pci sriov-gpu sriov-nic sriov vf vgpu mdev usb "
		  "hub bridge" },
		{ "ids: [\"0781:5581\", banana]",
		  "f:2: \"banana\" is not a pair of ids; write for example 10de:25b6" },
		{ "ids: \"0x10de:25b6\"",
		  "f:2: \"0x10de:25b6\" is not a pair of ids; write for example 10de:25b6" },
		{ "ids: \"10de:25b67\"",
		  "f:2: \"10de:25b67\" is not a pair of ids; write for example 10de:25b6" },
		{ "kind: [mdev, USB], ids: [\"10DE:25B6\", \"0781:5581\"]", "usb/1-1/claim x" },
	};
	char text[300];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(text, sizeof(text), ENTRY("match: {%s}, claim: x"), rows[i][0]);
		CHECK_STR(few_lines(text), rows[i][1]);
	}
	for (enum device_kind k = 0; k < KIND_COUNT; k++) {
		snprintf(text, sizeof(text), ENTRY("match: {kind: [usb, %s]}, claim: x"),
			 kind_name(k));
		CHECK_IN(few_lines(text), "usb/1-1/claim x");
	}
}

/* A GPU and its sound in one, two ports in another; VFs go by their PF. */
DEFINE_TEST(a_slot_is_what_sits_in_it)
{
	static const char cards[] = "pcidevfs-inventory 1 generation=7 boot=b devices=6\n"
				    "0000:01:00.0 kind=sriov-gpu slot=1 claim=none enabled=0\n"
				    "0000:01:00.1 kind=pci slot=1 claim=none\n"
				    "0000:01:00.4 kind=vf slot=1 physfn=0000:01:00.0 claim=none\n"
				    "0000:05:00.0 kind=pci slot=1-1 claim=none\n"
				    "0000:05:00.1 kind=pci slot=1-1 claim=none\n"
				    "0000:06:00.0 kind=pci slot=none claim=none\n";
	static const char *const rows[][2] = {
		{ "match: {slot: \"1\"}, claim: x", "0000:01:00.0/claim x; 0000:01:00.1/claim x" },
		{ "match: {slot: 1}, claim: x, enabled: 1",
		  "0000:01:00.0/claim x; 0000:01:00.0/enabled 1" },
		{ "match: {slot: 1, kind: pci}, claim: x", "0000:01:00.1/claim x" },
		{ "match: {slot: [1, 1-1], kind: pci}, claim: x",
		  "0000:01:00.1/claim x; 0000:05:00.0/claim x; 0000:05:00.1/claim x" },
		{ "match: {slot: [1, 1]}, claim: x", "f:2: 1 comes twice" },
		{ "match: {slot: 05:00.0}, claim: x", "f:2: no device is in slot \"05:00.0\"" },
		{ "match: {slot: none}, claim: x", "f:2: no device is in slot \"none\"" },
		{ "match: {slot: \"\"}, claim: x", "f:2: no device is in slot \"\"" },
		{ "match: {slot: 1-1}, enabled: 1",
		  "0000:05:00.0/enabled 1; 0000:05:00.1/enabled 1" },
	};
	char text[300];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(text, sizeof(text), ENTRY("%s"), rows[i][0]);
		CHECK_STR(layout_lines(cards, text, NULL, few_text, NULL, false), rows[i][1]);
	}
}

DEFINE_TEST(what_cannot_be_read_is_named_in_its_line)
{
	static const char *const rows[][2] = {
		{ "version: v1\nlayouts:\n a:\n - match: all\n   claim: \xff\n",
		  "f:5: this is not YAML: invalid leading UTF-8 octet" },
		{ "version: v1\nlayouts:\n\ta: []\n",
		  "f:3: this is not YAML: a tab is not taken before a value; write blanks" },
		{ "version: [v1]\nlayouts: {a: []}", "f:1: version must be one value" },
		{ "{\n \"apiVersion\": \"v1\", \"kind\": \"ConfigMap\"}",
		  "f:2: this is a manifest of Kubernetes" },
		{ "kind: ConfigMap\n\"apiVersion\": v1\n",
		  "f:2: this is a manifest of Kubernetes" },
		{ "apiVersion: v1\n---\napiVersion: v1\n",
		  "f:1: this is a manifest of Kubernetes" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_IN(few_lines(rows[i][0]), rows[i][1]);
}
