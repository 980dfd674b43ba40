// SPDX-License-Identifier: GPL-2.0-or-later
#include "fs/objects.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "test.h"

#define SIZE ((size_t)256 << 20)

static void *region(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(at != MAP_FAILED);
	return at;
}

static struct objects *open_at(void *at, size_t size)
{
	struct objects *o;

	CHECK_EQ(objects_open(at, size, obj_type, &o, NULL), 0);
	return o;
}

DEFINE_TEST(objects_root_is_fuse_root)
{
	struct objects *o = open_at(region(SIZE), SIZE);

	CHECK_EQ(objects_ino(o, 0, ROW_SELF), 1);
	objects_close(o);
}

DEFINE_TEST(objects_same_ids_in_a_fresh_process)
{
	void *at = region(SIZE);
	struct objects *o = open_at(at, SIZE);
	uint32_t a = objects_slot(o, OBJ_DEVICE, 0, "0000:08:00.0");
	uint32_t b = objects_slot(o, OBJ_VENDOR, 0, "alice");
	uint64_t ino;

	objects_live(o, a, 7);
	objects_live(o, b, 0);
	ino = objects_ino(o, a, 5);
	objects_close(o);
	o = open_at(at, SIZE);
	CHECK_EQ(objects_starts(o), 2);
	CHECK_EQ(objects_find(o, OBJ_DEVICE, 0, "0000:08:00.0"), a);
	CHECK_EQ(objects_slot(o, OBJ_VENDOR, 0, "alice"), b);
	CHECK_EQ(objects_find(o, OBJ_VENDOR, 0, "bob"), NO_SLOT);
	objects_live(o, a, 7);
	CHECK_EQ(objects_ino(o, a, 5), ino);
	objects_close(o);
}

DEFINE_TEST(objects_former_id_means_nothing)
{
	struct objects *o = open_at(region(SIZE), SIZE);
	uint32_t slot, a = objects_slot(o, OBJ_DEVICE, 0, "0000:08:00.0");
	uint64_t former, replugged;
	uint16_t row;

	CHECK(!objects_node(o, objects_ino(o, a, ROW_SELF), &slot, &row));
	objects_live(o, a, 7);
	former = objects_ino(o, a, 3);
	CHECK(objects_node(o, former, &slot, &row));
	CHECK_EQ(slot, a);
	CHECK_EQ(row, 3);
	objects_kill(o, a);
	CHECK(!objects_node(o, former, &slot, &row));
	objects_live(o, a, 9);
	replugged = objects_ino(o, a, 3);
	CHECK(replugged != former);
	CHECK(!objects_node(o, former, &slot, &row));
	objects_live(o, a, 10); /* replaced without a removal in between */
	CHECK(!objects_node(o, replugged, &slot, &row));
	CHECK(!objects_node(o, ~0ull, &slot, &row));
	objects_close(o);
}

/* As many slots as fit behind the table of owners: the oldest dead one is used again. */
DEFINE_TEST(objects_full_table_reuses_the_oldest_dead)
{
	size_t size = 8 << 20;
	struct objects *o = open_at(region(size), size);
	uint32_t n = 0, slot, first = 0, second = 0, dummy;
	uint64_t former;
	char name[32];
	uint16_t row;

	do {
		snprintf(name, sizeof(name), "label%u", n++);
		slot = objects_slot(o, OBJ_VENDOR, 0, name);
		if (slot != NO_SLOT)
			objects_live(o, slot, 0);
	} while (slot != NO_SLOT && n < 100000);
	CHECK(n > 1000 && n < 100000);
	first = objects_find(o, OBJ_VENDOR, 0, "label10");
	second = objects_find(o, OBJ_VENDOR, 0, "label5");
	former = objects_ino(o, first, ROW_SELF);
	objects_kill(o, first);
	objects_kill(o, second);
	CHECK_EQ(objects_slot(o, OBJ_VENDOR, 0, "new"), first);
	objects_live(o, first, 0);
	CHECK(!objects_node(o, former, &dummy, &row));
	CHECK_EQ(objects_find(o, OBJ_VENDOR, 0, "label10"), NO_SLOT);
	CHECK_EQ(objects_find(o, OBJ_VENDOR, 0, "new"), first);
	CHECK_EQ(objects_slot(o, OBJ_VENDOR, 0, "newer"), second);
	CHECK_EQ(objects_slot(o, OBJ_VENDOR, 0, "none left"), NO_SLOT);
	objects_close(o);
}

/* Users choose the names of claims and resources: their number must not make the table grow. */
DEFINE_TEST(objects_derived_slots_are_used_again)
{
	void *at = region(SIZE);
	struct objects *o = open_at(at, SIZE);
	uint32_t vendor = objects_slot(o, OBJ_VENDOR, 0, "vendor.com"), slot, count;
	uint64_t former = ~0ull;
	char name[32];
	uint16_t found;

	objects_live(o, vendor, 0);
	objects_live(o, objects_slot(o, OBJ_DEVICE, 0, "0000:08:00.0"), 7);
	count = objects_count(o);
	for (int i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "name%d", i);
		slot = objects_slot(o, OBJ_RESOURCE, vendor, name);
		objects_live(o, slot, 0);
		CHECK_EQ(objects_find(o, OBJ_RESOURCE, vendor, name), slot);
		CHECK(objects_ino(o, slot, ROW_SELF) != former);
		CHECK(!objects_node(o, former, &slot, &found));
		slot = objects_find(o, OBJ_RESOURCE, vendor, name);
		former = objects_ino(o, slot, ROW_SELF);
		objects_kill(o, slot);
		CHECK_EQ(objects_find(o, OBJ_RESOURCE, vendor, name), NO_SLOT);
		if (i == 1000) { /* the next process goes on so */
			objects_close(o);
			o = open_at(at, SIZE);
		}
	}
	CHECK_EQ(objects_count(o), count + 1);
	CHECK_EQ(objects_find(o, OBJ_VENDOR, 0, "vendor.com"), vendor);
	objects_close(o);
}

DEFINE_TEST(objects_survives_rubbish)
{
	size_t size = 8 << 20;
	unsigned char *at = region(size);
	struct objects *o = open_at(at, size);
	unsigned int seed = 1;

	for (int i = 0; i < 200; i++) {
		char name[32];

		snprintf(name, sizeof(name), "0000:00:%02x.%d", i / 8, i % 8);
		objects_live(o, objects_slot(o, OBJ_DEVICE, 0, name), 1);
	}
	objects_close(o);
	for (size_t i = 4096 + 65536 * 64; i < size; i += 7) {
		seed = seed * 1103515245 + 12345;
		at[i] ^= (unsigned char)(seed >> 16);
	}
	if (!objects_open(at, size, obj_type, &o, NULL)) /* or it refuses */
		objects_close(o);
}

DEFINE_TEST(objects_owner_is_kept_until_the_object_ends)
{
	struct objects *o = open_at(region(SIZE), SIZE);
	struct owner own = { .mode = 0600, .uid = 1000, .gid = 5 }, got;
	uint32_t a = objects_slot(o, OBJ_DEVICE, 0, "0000:08:00.0");
	uint64_t ino;

	objects_live(o, a, 1);
	ino = objects_ino(o, a, 11);
	CHECK(!objects_owner(o, ino, &got));
	CHECK_EQ(objects_set_owner(o, ino, &own), 0);
	own.mode = 0640;
	CHECK_EQ(objects_set_owner(o, ino, &own), 0);
	CHECK(objects_owner(o, ino, &got));
	objects_drop_owner(o, ino);
	CHECK(!objects_owner(o, ino, &got));
	CHECK_EQ(objects_set_owner(o, ino, &own), 0);
	CHECK(objects_owner(o, ino, &got));
	CHECK_EQ(got.mode, 0640);
	CHECK_EQ(got.uid, 1000);
	objects_kill(o, a);
	objects_live(o, a, 2);
	CHECK(!objects_owner(o, objects_ino(o, a, 11), &got));
	objects_close(o);
}

DEFINE_TEST(objects_twins_are_the_same_file)
{
	struct objects *o = open_at(region(SIZE), SIZE);
	uint32_t slot, at = objects_slot(o, OBJ_DEVICE, 0, "0000:06:00.0");
	uint64_t ino, node;
	uint16_t row;

	objects_live(o, at, 1);
	ino = objects_ino(o, at, 12);
	node = objects_twin(ino, 255);
	CHECK(node != ino);
	CHECK_EQ(objects_twin_number(node), 255);
	CHECK_EQ(objects_untwinned(node), ino);
	CHECK_EQ(objects_sibling(node, 13), objects_ino(o, at, 13));
	CHECK(objects_node(o, node, &slot, &row));
	CHECK_EQ(slot, at);
	CHECK_EQ(row, 12);
	CHECK_EQ(objects_known(o, ino), 0);
	objects_note_known(o, objects_twin(ino, 3));
	objects_note_known(o, objects_twin(ino, 2));
	CHECK_EQ(objects_known(o, ino), 4);
	CHECK_EQ(objects_known(o, objects_sibling(ino, 13)), 0);
	CHECK_EQ(objects_known(o, objects_sibling(ino, 127)), 0);
	objects_note_known(o, objects_sibling(ino, 127));
	CHECK(objects_known(o, objects_sibling(ino, 127)));
	CHECK_EQ(objects_known(o, objects_ino(o, 0, ROW_SELF)), 1);
	objects_close(o);
}
