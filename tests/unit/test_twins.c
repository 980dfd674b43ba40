// SPDX-License-Identifier: GPL-2.0-or-later
/* Twins: which node of a file a path leads to while others are written. */
#include "fs/objects.h"
#include "fs/twins.h"
#include "test.h"

#define INO 0x70005ull

DEFINE_TEST(twins_are_as_many_as_writes_and_one)
{
	struct twins *w;

	CHECK_EQ(twins_new(&w), 0);
	CHECK_EQ(twins_free_number(w, INO), 0);
	for (uint32_t i = 0; i < TWINS_MAX - 1; i++) {
		CHECK(twins_begin(w, objects_twin(INO, i), i));
		CHECK_EQ(twins_free_number(w, INO), i + 1);
		CHECK_EQ(twins_free_number(w, INO + 1), 0);
	}
	twins_end(w, 7);
	CHECK_EQ(twins_free_number(w, INO), 7);
	CHECK(twins_begin(w, objects_twin(INO, 7), 7));
	CHECK(twins_begin(w, objects_twin(INO, TWINS_MAX - 1), TWINS_MAX));
	CHECK_EQ(twins_free_number(w, INO), 0); /* there is no other left */
	for (uint32_t i = 0; i <= TWINS_MAX; i++)
		twins_end(w, i);
	CHECK_EQ(twins_free_number(w, INO), 0);
	twins_free(w);
}

DEFINE_TEST(twins_a_write_is_counted_once)
{
	struct twins *w;

	CHECK_EQ(twins_new(&w), 0);
	CHECK(twins_begin(w, INO, 1));
	CHECK(!twins_begin(w, INO, 1));
	CHECK(!twins_begin(w, INO, 2)); /* no path leads there any more */
	twins_end(w, 1);
	twins_end(w, 1);
	CHECK_EQ(twins_free_number(w, INO), 1);
	twins_end(w, 2);
	CHECK_EQ(twins_free_number(w, INO), 0);
	twins_free(w);
}
