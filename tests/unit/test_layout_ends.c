// SPDX-License-Identifier: GPL-2.0-or-later
/* Which vGPUs a layout ends, and which it leaves to others. */
#include <stdlib.h>
#include <string.h>

#include "client/inventory.h"
#include "client/layout/layout.h"
#include "layoutlines.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"
#include "test.h"

#define HEAD "pcidevfs-inventory 1 generation=7\n"
#define A2 HEAD "0000:01:00.0 vendor=0x10de device=0x25b6 class=0x030200 sriov_totalvfs=4 "
#define VF(n, profile, rest)                                                                       \
	"0000:01:00." n " kind=vgpu physfn=0000:01:00.0 profile=\"" profile "\" " rest "\n"
#define T4 HEAD "0000:03:00.0 vendor=0x10de device=0x1eb8 class=0x030200 kind=pci claim=none\n"
#define MDEV(uuid, claim)                                                                          \
	"mdev/" uuid "-0039-4f74-85f4-b4d8d1dd3cf4 kind=mdev parent=0000:03:00.0 "                 \
	"profile=\"GRID T4-8Q\" claim=" claim "\n"

/* ctx is what is stored. */
static char *card_text(void *ctx, const char *id, const char *file)
{
	bool a2 = id && !strcmp(id, "0000:01:00.0"), t4 = id && !strcmp(id, "0000:03:00.0");

	if (!id)
		return !strcmp(file, "intents") && ctx ? strdup(ctx) : NULL;
	if ((a2 || t4) && !strcmp(file, "vgpu_support"))
		return strdup("yes");
	if ((a2 || t4) && !strcmp(file, "profiles"))
		return strdup(a2 ? "name=\"NVIDIA A2-4Q\"\nname=\"NVIDIA A2-8Q\""
				 : "name=\"GRID T4-8Q\"");
	return t4 && !strcmp(file, "create") ? strdup("write") : NULL;
}

static const char *card_lines(const char *inventory, const char *stored, const char *text)
{
	return layout_lines(inventory, text, NULL, card_text, (char *)stored, false);
}

#define NVIDIA(types) "version: v1\nvgpu-configs: {x: [{devices: all, vgpu-devices: " types "}]}"
#define OURS(entry) "version: v1\nlayouts: {x: [{" entry "}]}"
#define OURS_OF(types) OURS("match: {address: 01:00.0}, vgpus: " types)

DEFINE_TEST(a_layout_ends_first_what_nobody_would_miss)
{
	/* One of others, one of ours, one that somebody claims, one in use. */
	static const char four[] = A2 "enabled=1\n" VF("1", "NVIDIA A2-4Q", "claim=none state=host")
		VF("2", "NVIDIA A2-4Q", "claim=admin state=claimed")
			VF("3", "NVIDIA A2-4Q", "claim=alice state=claimed")
				VF("4", "NVIDIA A2-4Q", "claim=admin state=held");
#define TWO_END "0000:01:00.1/profile none; 0000:01:00.2/profile none"
	static const char *const rows[][2] = {
		{ NVIDIA("{A2-4Q: 1}"), TWO_END "; 0000:01:00.3/profile none" },
		{ NVIDIA("{A2-4Q: 2}"), TWO_END },
		{ NVIDIA("{A2-4Q: 3}"), "0000:01:00.1/profile none" },
		{ NVIDIA("{A2-4Q: 4}"), "0000:01:00.1/profile NVIDIA A2-4Q (takes)" },
		{ OURS_OF("{A2-4Q: 2}"), TWO_END },
		{ OURS_OF("{A2-4Q: 4}"), "" }, /* NVIDIA's forms alone take over */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_STR(card_lines(four, NULL, rows[i][0]), rows[i][1]);
}

/* What is stored comes back with its VFs, unless the layout that makes them says otherwise. */
DEFINE_TEST(a_layout_without_vgpus_makes_vfs_without_them)
{
	static const char off[] = A2 "enabled=0\n";
	static const char stored[] =
		"0000:01:00.2 state=waiting device=none profile=\"NVIDIA A2-4Q\" "
		"identity=0000:00/2.0,10de:25b6::,none,vf1 at=0000:01:00.2\n";
	static const char *const rows[][2] = {
		{ OURS("match: {address: 01:00.0}, enabled: 1, vgpus: {}"),
		  "0000:01:00.0/enabled 1; 0000:01:00.0/virtfn1/profile none (hidden)" },
		{ OURS("match: {address: 01:00.0}, vgpus: {}}, {match: {address: 01:00.0}, enabled: 1"),
		  "0000:01:00.0/enabled 1; 0000:01:00.0/virtfn1/profile none (hidden)" },
		{ OURS("match: {address: 01:00.0}, enabled: 1, vgpus: {}, "
		       "vfs: {1: {profile: A2-8Q}}"),
		  "0000:01:00.0/enabled 1; 0000:01:00.0/virtfn1/profile A2-8Q" },
		{ OURS("match: {address: 01:00.0}, enabled: 0, vgpus: {}"), "" },
		{ OURS_OF("{}"), "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_STR(card_lines(off, stored, rows[i][0]), rows[i][1]);
}

/* What is exported, of which nothing differs. */
static void check_now(const char *inventory, const char *want)
{
	struct tree_inventory inv = { 0 };
	struct layout_view view = { .inv = &inv, .text = card_text };
	struct err err = { 0 };
	struct out out = { 0 };

	CHECK_EQ(tree_inventory_parse(strdup(inventory), &inv, &err), 0);
	CHECK_EQ(layout_export(&view, "layouts", &out, &err), 0);
	CHECK_STR(out_text(&out), want);
	CHECK_STR(card_lines(inventory, NULL, out_text(&out)), "");
	tree_inventory_free(&inv);
	out_free(&out);
}

#define NOW "version: v1\nlayouts:\n  now:"
#define NOW_A2 NOW "\n    - match: {address: \"0000:01:00.0\"} # \n      enabled: 1\n"

DEFINE_TEST(an_export_leaves_to_others_what_they_have_made)
{
	check_now(T4 MDEV("70a78f40", "none") MDEV("80a78f40", "admin") MDEV("90a78f40", "none"),
		  NOW "\n    - match: {address: \"0000:03:00.0\"} # \n"
		      "      vgpus: {\"GRID T4-8Q\": 3}\n");
	check_now(T4 MDEV("70a78f40", "none"), NOW " []\n");
	check_now(A2 "enabled=1\n" VF("1", "NVIDIA A2-8Q", "claim=none state=host"), NOW_A2);
}

/* Over another layout it ends what that has made. */
DEFINE_TEST(an_export_tells_that_a_card_has_no_other_vgpus)
{
	static const char one[] = NOW_A2 "      vgpus: {}\n      vfs:\n"
					 "        1: {profile: \"NVIDIA A2-8Q\", claim: bob}\n";

	check_now(A2 "enabled=1\n" VF("1", "none", "claim=none")
			  VF("2", "NVIDIA A2-8Q", "claim=bob state=claimed"),
		  one);
	check_now(A2 "enabled=1\n", NOW_A2 "      vgpus: {}\n");
	CHECK_STR(card_lines(A2 "enabled=1\n" VF("1", "NVIDIA A2-4Q", "claim=admin")
				     VF("2", "none", "claim=none"),
			     NULL, one),
		  "0000:01:00.2/profile NVIDIA A2-8Q; 0000:01:00.2/claim bob; "
		  "0000:01:00.1/profile none");
}
