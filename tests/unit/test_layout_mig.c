// SPDX-License-Identifier: GPL-2.0-or-later
/* Layouts of cards with MIG. */
#include <stdlib.h>
#include <string.h>

#include "layoutlines.h"
#include "pcidevfs/util.h"
#include "test.h"

#define GPU " vendor=0x10de class=0x030200 claim=none "

/* A card, two with MIG of which one has instances, and between these one without. */
static const char machine[] =
	"pcidevfs-inventory 1 generation=7 boot=b devices=4\n"
	"0000:01:00.0" GPU "device=0x25b6 kind=sriov-gpu enabled=0 sriov_totalvfs=4\n"
	"0000:02:00.0" GPU "device=0x20b5 kind=sriov-gpu enabled=0 sriov_totalvfs=4\n"
	"0000:03:00.0" GPU "device=0x1eb8 kind=pci\n"
	"0000:04:00.0" GPU "device=0x2330 kind=pci\n";

static char *text_of(void *ctx, const char *id, const char *file)
{
	static const char *const files[][3] = {
		{ "0000:02:00.0", "mig/mode", "0" },
		{ "0000:02:00.0", "mig/layout", "none" },
		{ "0000:02:00.0", "vgpu_support", "no: its VFs are not enabled" },
		{ "0000:04:00.0", "mig/mode", "1" },
		{ "0000:04:00.0", "mig/layout", "3g.20gb 1g.5gb*2" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(files) && id; i++)
		if (!strcmp(files[i][0], id) && !strcmp(files[i][1], file))
			return strdup(files[i][2]);
	return NULL;
}

static const char *asked(const char *text)
{
	return layout_lines(machine, text, NULL, text_of, NULL, false);
}

#define MIG(devices, rest)                                                                         \
	"version: v1\nmig-configs:\n x:\n - {devices: " devices ", mig-enabled: " rest "}\n"

DEFINE_TEST(mig_configs_become_modes_and_layouts)
{
	static const char *const rows[][2] = {
		{ MIG("[1]", "true, mig-devices: {1g.5gb: 2, 3g.20gb: 1}"),
		  "0000:02:00.0/mig/mode 1; 0000:02:00.0/mig/layout 1g.5gb*2 3g.20gb" },
		{ MIG("[3]", "true, mig-devices: {1g.5gb: 2, 3g.20gb: 1}"), "" },
		{ MIG("[3]", "true, mig-devices: {1c.1g.5gb: 2, 3c.3g.20gb: 1}"), "" },
		{ MIG("[3]", "true, mig-devices: {1g.5gb: 2, 1c.3g.20gb: 3}"),
		  "0000:04:00.0/mig/layout 1g.5gb*2 1c.3g.20gb*3" },
		{ MIG("[3]", "false"), "0000:04:00.0/mig/mode 0; 0000:04:00.0/mig/layout none" },
		{ MIG("[1]", "false"), "" },
		{ MIG("[2]", "false, mig-devices: {}"), "" },
		{ MIG("[2]", "false, mig-devices: {1g.5gb: 2}"),
		  "f:4: mig-devices asks for instances, and line 4 says mig-enabled: false" },
		{ MIG("[2]", "true, mig-devices: {1g.5gb: 2}"), "f:4: 0000:03:00.0 has no MIG" },
		{ MIG("[1]", "true"), "f:4: mig-enabled: true needs mig-devices" },
		{ MIG("[1]", "maybe"), "f:4: mig-enabled must be true or false" },
		{ MIG("[1]", "true, mig-devices: {1g.5gb: x}"),
		  "f:4: \"1g.5gb: x\" is not a profile and a number of instances" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_STR(asked(rows[i][0]), rows[i][1]);
}

DEFINE_TEST(of_mig_instances_those_go_that_are_too_many)
{
	static const char *const rows[][2] = {
		{ MIG("[3]", "true, mig-devices: {1g.5gb: 3, 3g.20gb: 1}"),
		  "0000:04:00.0/mig/layout 1g.5gb*3 3g.20gb" },
		{ MIG("[3]", "true, mig-devices: {1g.5gb: 1, 3g.20gb: 2}"),
		  "0000:04:00.0/mig/layout 1g.5gb 3g.20gb*2; mig/layout of 0000:04:00.0 goes: 1g.5gb" },
		{ MIG("[3]", "true, mig-devices: {7g.40gb: 1}"),
		  "0000:04:00.0/mig/layout 7g.40gb; mig/layout of 0000:04:00.0 goes: 3g.20gb 1g.5gb*2" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_STR(layout_lines(machine, rows[i][0], NULL, text_of, NULL, true), rows[i][1]);
}

#define WITH_MIG(layout, types)                                                                    \
	"version: v1\nlayouts: {x: [{match: {address: 02:00.0}, mig/mode: 1, mig/layout: " layout  \
	", vgpus: " types "}]}"

/* A card may have more of them, for vGPUs of VFs that are told by number, or for containers. */
DEFINE_TEST(a_layout_may_tell_more_instances_than_its_vgpus_need)
{
	static const char made[] =
		"0000:02:00.0/mig/mode 1; 0000:02:00.0/mig/layout 1g.5gb*3 3g.20gb; "
		"0000:02:00.0/enabled 1; 0000:02:00.0/virtfn0/profile A100-1-5C; "
		"0000:02:00.0/virtfn1/profile A100-1-5Q";

	CHECK_STR(asked(WITH_MIG("1g.5gb*3 3g.20gb", "{A100-1-5C: 1, A100-1-5Q: 1}")), made);
	CHECK_IN(asked(WITH_MIG("1g.5gb 3g.20gb", "{A100-1-5C: 1, A100-1-5Q: 1}")),
		 "f:2: mig/layout of 0000:02:00.0 is to be 1g.5gb*2, and line 2 says 1g.5gb "
		 "3g.20gb");
	CHECK_IN(asked(WITH_MIG("none", "{A100-1-5C: 1}")), "and line 2 says none");
}
