// SPDX-License-Identifier: GPL-2.0-or-later
/* What directories of sysfs tell is read once: by inode, as long as that is the same one. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/known.h"
#include "backend/gpu/types.h"
#include "fakehost.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"
#include "test.h"

#define FUNCTION "0000:08:00.0"
#define DIR_OF "devices/pci0000:00/" FUNCTION

static struct vgpu_type type_of(const char *id, const char *name, int32_t max)
{
	struct vgpu_type t = { .max = max, .framebuffer_mib = 4096 };

	STR_COPY(t.id, id);
	STR_COPY(t.name, name);
	return t;
}

/* In any order, each by its own inode, and only with the id that its directory has. */
DEFINE_TEST(known_types_by_inode)
{
	struct known *known = known_new();
	const struct vgpu_type a = type_of("nvidia-745", "A2-2Q", 8);
	const struct vgpu_type b = type_of("nvidia-747", "A2-4Q", 4);
	struct vgpu_type t = { .id = "nvidia-745" };

	CHECK(!known_find(known, 7, &t));
	for (uint64_t inode = 100; inode; inode--)
		known_add(known, inode * 3, inode % 2 ? &a : &b);
	for (uint64_t inode = 1; inode <= 300; inode++) {
		const struct vgpu_type *is = inode / 3 % 2 ? &a : &b;

		t = (struct vgpu_type){ 0 };
		STR_COPY(t.id, is->id);
		CHECK_EQ(known_find(known, inode, &t), inode % 3 == 0);
		CHECK_STR(t.name, inode % 3 ? "" : is->name);
		CHECK_EQ(t.max, inode % 3 ? 0 : is->max);
	}
	STR_COPY(t.id, "nvidia-222");
	CHECK(!known_find(known, 3, &t));
	known_free(known);
	known_free(NULL);
}

/* Most inodes are of functions that are gone. */
DEFINE_TEST(known_types_are_bounded)
{
	struct known *known = known_new();
	const struct vgpu_type a = type_of("nvidia-745", "A2-2Q", 8);
	struct vgpu_type t = { .id = "nvidia-745" };

	for (uint64_t inode = 1; inode <= 16384 + 2; inode++)
		known_add(known, inode, &a);
	CHECK(!known_find(known, 1, &t) && known_find(known, 16384 + 2, &t));
	for (uint64_t inode = 1; inode <= 16384 + 2; inode++)
		known_add_ids(known, inode, &(struct pci_ids){ .vendor = 1 });
	CHECK(!known_ids(known, 1, &(struct pci_ids){ 0 }));
	CHECK(known_ids(known, 16384 + 2, &(struct pci_ids){ 0 }));
	known_free(known);
}

static void put(const char *name, const char *text)
{
	host_file(text, "sys/" DIR_OF "/%s", name);
}

static struct facts observe(struct known *known)
{
	struct facts f = { 0 };
	struct sysfs s;
	struct key key;

	CHECK(key_make(BUS_PCI, FUNCTION, &key));
	host_open(&s);
	CHECK_EQ(pci_observe(&s, known, &key, &f), 0);
	sysfs_close(&s);
	return f;
}

static void put_function(void)
{
	host_link("../../../" DIR_OF, "sys/bus/pci/devices/" FUNCTION);
	put("vendor", "0x10de\n");
	put("device", "0x25b6\n");
	put("class", "0x030200\n");
	put("subsystem_vendor", "0x10de\n");
	put("subsystem_device", "0x157e\n");
}

/* All but the class; not before all of them were there. */
DEFINE_TEST(known_ids_of_a_function)
{
	struct known *known = known_new();
	struct facts f;

	put_function();
	CHECK_EQ(observe(known).revision, 0);
	put("revision", "0xa1\n");
	CHECK_EQ(observe(known).revision, 0xa1);
	put("vendor", "0x8086\n");
	put("device", "0x1572\n");
	put("class", "0x020000\n");
	put("subsystem_vendor", "0x1\n");
	put("subsystem_device", "0x2\n");
	put("revision", "0x3\n");
	f = observe(known);
	CHECK_EQ(f.vendor, 0x10de);
	CHECK_EQ(f.device, 0x25b6);
	CHECK_EQ(f.class_code, 0x020000);
	CHECK_EQ(f.subvendor, 0x10de);
	CHECK_EQ(f.subdevice, 0x157e);
	CHECK_EQ(f.revision, 0xa1);
	f = observe(NULL);
	CHECK_EQ(f.vendor, 0x8086);
	CHECK_EQ(f.revision, 3);
	known_free(known);
}

DEFINE_TEST(known_ids_are_no_rubbish)
{
	struct known *known = known_new();

	put_function();
	put("revision", "0xa1\n");
	put("vendor", "rubbish\n");
	CHECK_STR(observe(known).garbled, "vendor holds \"rubbish\"");
	put("vendor", "0x10de\n");
	CHECK_STR(observe(known).garbled, "");
	CHECK_EQ(observe(known).vendor, 0x10de);
	known_free(known);
}

static int by_number(const void *row, const void *key)
{
	return *(const int *)row - *(const int *)key;
}

DEFINE_TEST(rows_first_is_not_below)
{
	static const int rows[] = { 2, 4, 4, 4, 9 };
	static const size_t places[] = { 0, 0, 0, 1, 1, 4, 4, 4, 4, 4, 5 };

	for (int key = 0; key < (int)ARRAY_SIZE(places); key++)
		CHECK_EQ(rows_first(rows, ARRAY_SIZE(rows), sizeof(*rows), &key, by_number),
			 places[key]);
	CHECK_EQ(rows_first(NULL, 0, sizeof(*rows), rows, by_number), 0);
}
