// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/ids.h"
#include "pcidevfs/device.h"
#include "pcidevfs/names.h"
#include "pcidevfs/util.h"

#define WHOLE_DATABASE "/usr/share/misc/pci.ids"

static const struct {
	const char *vendor, *product;
	uint16_t device;
	const char *resource;
} vectors[] = {
	{ "NVIDIA Corporation", "GA100 [A100 SXM4 40GB]", 0x20b0,
	  "nvidia.com/GA100_A100_SXM4_40GB" },
	{ "Advanced Micro Devices, Inc. [AMD/ATI]", "R481 [Radeon X850 XT AGP]", 0x4b4b,
	  "amd.com/R481_RADEON_X850_XT_AGP" },
	{ "Mellanox Technologies", "MT2892 Family [ConnectX-6 Dx Flash Recovery]", 0x0212,
	  "mellanox.com/MT2892_FAMILY_CONNECTX6_DX_FLASH_RECOVERY" },
	{ "NVIDIA Corporation", "GA107GL [A2 / A16]", 0x25b6, "nvidia.com/GA107GL_A2___A16" },
	{ "Red Hat, Inc.", "Virtio 1.0 GPU", 0x1050, "red.com/VIRTIO_1_0_GPU" },
	{ "Test Vendor", "!!!", 0x5678, "test.com/5678" },
	{ "Broadcom Inc. and subsidiaries",
	  "NetXtreme II BCM57810 10 Gigabit Ethernet Virtual Function", 0x16af,
	  "broadcom.com/NETXTREME_II_BCM57810_10_GIGABIT_ETHERNET_VF" },
	{ "NVIDIA Corporation", NULL, 0x00ab, "nvidia.com/00ab" },
	{ NULL, NULL, 0xffff, "unknown.com/ffff" },
	{ "  ", "x", 1, "unknown.com/X" },
	{ "A [", "x", 1, "a.com/X" },
	{ "A []", "x", 1, "unknown.com/X" },
	{ "Foo", " \t a \t b.c-d \n", 1, "foo.com/A_B_CD" },
	{ "Foo", "trailing ./-", 1, "foo.com/TRAILING" },
	/* as Harvester computes it kubelet refuses the name */
	{ "Foo", "/slash", 0xbeef, "foo.com/beef" },
	/* 60 bytes for both fit, 61 do not */
	{ "Foo", "0123456789012345678901234567890123456789012345678901_", 1,
	  "foo.com/0123456789012345678901234567890123456789012345678901" },
	{ "Foo", "012345678901234567890123456789012345678901234567890123", 0x12, "foo.com/0012" },
	{ "Foo", "Virtual Function Virtual Function Virtual Function Virtual Function", 1,
	  "foo.com/VF_VF_VF_VF" },
	{ "Foo", "Short Virtual Function", 1, "foo.com/SHORT_VIRTUAL_FUNCTION" },
};

DEFINE_TEST(names_resource_vectors)
{
	struct names n;

	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		names_resource(vectors[i].vendor, vectors[i].product, vectors[i].device, n.resource,
			       sizeof(n.resource));
		CHECK_STR(n.resource, vectors[i].resource);
	}
}

DEFINE_TEST(names_of_any_length_stay_qualified)
{
	struct names n;
	char text[2048];

	for (size_t len = 0; len < sizeof(text); len++) {
		memset(text, 'V', len);
		text[len] = '\0';
		names_resource(text, text, 0xa, n.resource, sizeof(n.resource));
		CHECK(valid_qualified(n.resource));
	}
}

DEFINE_TEST(valid_names_are_what_kubelet_takes)
{
	static const char *const good[] = { "a/B", "a-b.c/A_b.c-d", "0.com/0" };
	static const char *const bad[] = { "",	    "a",      "a/",	"/a",	  "A/b",    "a/_b",
					   "a/b_",  "-a/b",   "a-/b",	"a..b/c", ".com/a", "a./b",
					   "a/b/c", "a.-b/c", "a-.b/c", "a b/c",  "a/b c" };

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		CHECK(valid_qualified(good[i]));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (valid_qualified(bad[i]))
			FAIL("\"%s\" is taken for a name", bad[i]);
}

DEFINE_TEST(names_description_falls_back_to_ids)
{
	struct facts f = { .vendor = 0x10de, .device = 0xb, .class_code = 0x030200 };
	struct names n;

	names_description(&f, NULL, NULL, NULL, n.description, sizeof(n.description));
	CHECK_STR(n.description, "Class 0302: Vendor 10de Device 000b");
	names_description(&f, "3D controller", "NVIDIA Corporation", NULL, n.description,
			  sizeof(n.description));
	CHECK_STR(n.description, "3D controller: NVIDIA Corporation Device 000b");
}

DEFINE_TEST(names_description_is_cut_between_characters)
{
	struct facts f = { 0 };
	char small[9];

	names_description(&f, "abcd", "\xc3\xa9\xc3\xa9", "x", small, sizeof(small));
	CHECK_STR(small, "abcd: \xc3\xa9");
	names_description(&f, "abcde", "\xc3\xa9\xc3\xa9", "x", small, sizeof(small));
	CHECK_STR(small, "abcde: ");
}

DEFINE_TEST(names_without_a_database)
{
	struct facts f = { .vendor = 0x8086, .device = 0x1572, .class_code = 0x020000 };
	struct ids *db;
	struct names n;

	CHECK_EQ(ids_open((const char *const[]){ "/nonexistent/pci.ids", NULL }, &db), 0);
	CHECK(!db);
	names_fill(db, &f, &n);
	CHECK_STR(n.resource, "unknown.com/1572");
	CHECK_STR(n.description, "Class 0200: Vendor 8086 Device 1572");
	ids_close(db);
	ids_close(NULL);
}

DEFINE_TEST(names_survive_a_rotten_database)
{
	static const char *const rotten[] = { "zzzz  no id\n", "8086  Intel\n\tgg  bad\n",
					      "\t1234  x\n" };
	struct facts f = { .vendor = 0x8086 };
	char path[4096];
	struct ids *db;
	struct names n;

	snprintf(path, sizeof(path), "%s/pci.ids", test_dir());
	for (size_t i = 0; i < ARRAY_SIZE(rotten); i++) {
		test_file("pci.ids", rotten[i]);
		CHECK_EQ(ids_open((const char *const[]){ path, NULL }, &db), 0);
		CHECK(!db);
		names_fill(db, &f, &n);
		CHECK_STR(n.resource, "unknown.com/0000");
		ids_close(db);
	}
}

DEFINE_TEST(names_know_a_class_without_its_subclass)
{
	struct facts f = { .vendor = 0x8086, .device = 0xfffe, .class_code = 0x02fe00 };
	struct ids *db;
	struct names n;

	CHECK_EQ(ids_open((const char *const[]){ "tests/data/pci.ids", NULL }, &db), 0);
	CHECK(db);
	names_fill(db, &f, &n);
	CHECK_STR(n.description, "Network controller: Intel Corporation Device fffe");
	CHECK_STR(n.resource, "intel.com/fffe");
	ids_close(db);
}

/* All functions of a recorded server, as Harvester's controller named them. */
DEFINE_TEST(names_are_harvesters)
{
	FILE *f = fopen("tests/data/harvester-names.tsv", "re");
	char line[512], resource[128], description[256];
	struct ids *db;
	int rows = 0;

	CHECK(f);
	CHECK_EQ(ids_open((const char *const[]){ "tests/data/pci.ids", NULL }, &db), 0);
	while (fgets(line, sizeof(line), f)) {
		unsigned int vendor, device, class;
		struct names n;

		if (*line == '#')
			continue;
		CHECK_EQ(sscanf(line, "%*s %x %x %x %127s %255[^\n]", &vendor, &device, &class,
				resource, description),
			 5);
		names_fill(db,
			   &(struct facts){ .vendor = (uint16_t)vendor,
					    .device = (uint16_t)device,
					    .class_code = class << 8 },
			   &n);
		CHECK_STR(n.resource, resource);
		CHECK_STR(n.description, description);
		rows++;
	}
	CHECK_EQ(rows, 200);
	ids_close(db);
	fclose(f);
}

/* Fills f from a line of the first part of pci.ids; false for other lines. */
static bool corpus_line(const char *line, struct facts *f)
{
	unsigned int id;

	if (*line == '#' || !strncmp(line, "\t\t", 2) || sscanf(line, "%4x  ", &id) != 1)
		return false;
	if (*line == '\t')
		f->device = (uint16_t)id;
	else
		*f = (struct facts){ .vendor = (uint16_t)id, .device = 0xffff };
	return true;
}

/* In version 2023.04.10 Harvester's own rule gives a valid name for each of its 19941 vendors and
 * devices, so that nothing there differs from what it writes. */
DEFINE_TEST(names_of_the_whole_database_are_qualified)
{
	FILE *f = fopen(WHOLE_DATABASE, "re");
	struct facts facts = { 0 };
	struct ids *db;
	struct names n;
	char line[1024];
	int rows = 0;

	if (!f)
		SKIP("%s is not installed", WHOLE_DATABASE);
	CHECK_EQ(ids_open((const char *const[]){ WHOLE_DATABASE, NULL }, &db), 0);
	while (fgets(line, sizeof(line), f) && strncmp(line, "C ", 2)) {
		if (!corpus_line(line, &facts))
			continue;
		names_fill(db, &facts, &n);
		if (!valid_qualified(n.resource) || !strncmp(n.resource, "unknown.", 8))
			FAIL("%04x:%04x is called %s", facts.vendor, facts.device, n.resource);
		rows++;
	}
	CHECK(rows > 15000);
	ids_close(db);
	fclose(f);
}
