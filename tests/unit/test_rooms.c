// SPDX-License-Identifier: GPL-2.0-or-later
/* Texts beside the records. */
#include <errno.h>
#include <string.h>

#include "arena.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "test.h"

static struct model *model;

static struct key key_of(unsigned int i)
{
	char name[KEY_NAME];
	struct key key;

	snprintf(name, sizeof(name), "0000:%02x:%02x.0", i / 32, i % 32);
	CHECK(key_make(BUS_PCI, name, &key));
	return key;
}

static int write_room(unsigned int i, const char *text, size_t len)
{
	struct key key = key_of(i);
	int rc;

	model_lock(model);
	rc = model_set_text(model, &model_edit(model, &key, true)->facts.holders, text, len);
	model_publish(model);
	model_unlock(model);
	return rc;
}

static void check_says(unsigned int i, const char *text, size_t len)
{
	struct key key = key_of(i);
	struct out o = { 0 };

	model_lock(model);
	model_text(model, &model_find(model, &key)->facts.holders, &o);
	model_unlock(model);
	CHECK_EQ(o.len, len);
	CHECK(!len || !memcmp(o.data, text, len));
	out_free(&o);
}

static void begin(void *arena)
{
	bool found;

	CHECK_EQ(model_new(arena, model_arena_size(), &model, &found, NULL), 0);
	model_complete(model);
}

/* The letters of a text of that length, each of another number. */
static char *letters(unsigned int seed, size_t len)
{
	static char text[TEXT_MAX + 2];

	for (size_t i = 0; i < len; i++)
		text[i] = (char)('!' + (seed + i * 7 + i / 90) % 90);
	return text;
}

DEFINE_TEST(rooms_of_any_length_outlive_the_process)
{
	static const size_t lengths[] = { 0, 1, 507, 508, 509, 1016, 1017, 10000, TEXT_MAX };
	void *arena = new_arena();

	begin(arena);
	for (unsigned int i = 0; i < ARRAY_SIZE(lengths); i++)
		CHECK_EQ(write_room(i, letters(i, lengths[i]), lengths[i]), 0);
	CHECK_EQ(write_room(8, letters(8, TEXT_MAX + 1), TEXT_MAX + 1), -E2BIG);
	model_free(model);
	begin(arena);
	CHECK_EQ(write_room(3, "another", 7), 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(lengths); i++)
		if (i != 3)
			check_says(i, letters(i, lengths[i]), lengths[i]);
	check_says(3, "another", 7);
	model_free(model);
}

/* More than all blocks are written; those that nobody has any more are written again. */
DEFINE_TEST(rooms_that_are_gone_leave_their_room)
{
	void *arena = new_arena();
	uint64_t before;

	begin(arena);
	for (unsigned int round = 0; round < 4; round++)
		for (unsigned int i = 0; i < 256; i++)
			CHECK_EQ(write_room(i, letters(round + i, 50000), 50000), 0);
	for (unsigned int i = 0; i < 256; i++)
		check_says(i, letters(3 + i, 50000), 50000);
	before = model_generation(model);
	CHECK_EQ(write_room(7, letters(3 + 7, 50000), 50000), 0);
	CHECK_EQ(model_generation(model), before); /* it says the same */
	model_free(model);
}

DEFINE_TEST(rooms_have_no_more_room_than_there_is)
{
	unsigned int i = 0;
	int rc = 0;

	begin(new_arena());
	while (!rc && i < 600)
		if (!(rc = write_room(i, letters(i, TEXT_MAX), TEXT_MAX)))
			i++;
	CHECK_EQ(rc, -ENOSPC);
	CHECK(i > 500);
	check_says(i, "", 0);
	check_says(i - 1, letters(i - 1, TEXT_MAX), TEXT_MAX);
	CHECK_EQ(write_room(0, "short", 5), 0);
	CHECK_EQ(write_room(0, "other", 5), 0);
	check_says(0, "other", 5);
	model_free(model);
}
