// SPDX-License-Identifier: GPL-2.0-or-later
/* Twins: which node of a file a path leads to while others are written. */
#include "fs/objects.h"
#include "fs/writers.h"
#include "test.h"

#define INO 0x70005ull

DEFINE_TEST(twins_are_as_many_as_writes_and_one)
{
	struct writers *w;

	CHECK_EQ(writers_new(NULL, NULL, &w, NULL), 0);
	CHECK_EQ(writers_free_twin(w, INO), 0);
	for (uint32_t i = 0; i < TWINS_MAX - 1; i++) {
		CHECK(writers_leave(w, i, objects_twin(INO, i)));
		CHECK_EQ(writers_free_twin(w, INO), i + 1);
		CHECK_EQ(writers_free_twin(w, INO + 1), 0);
	}
	writers_end(w, 7);
	CHECK_EQ(writers_free_twin(w, INO), 7);
	CHECK(writers_leave(w, 7, objects_twin(INO, 7)));
	CHECK(writers_leave(w, TWINS_MAX, objects_twin(INO, TWINS_MAX - 1)));
	CHECK_EQ(writers_free_twin(w, INO), 0); /* there is no other left */
	for (uint32_t i = 0; i <= TWINS_MAX; i++)
		writers_end(w, i);
	CHECK_EQ(writers_free_twin(w, INO), 0);
	writers_free(w);
}

DEFINE_TEST(twins_a_write_is_counted_once)
{
	struct writers *w;

	CHECK_EQ(writers_new(NULL, NULL, &w, NULL), 0);
	CHECK(writers_leave(w, 1, INO));
	CHECK(!writers_leave(w, 1, INO));
	CHECK(!writers_leave(w, 2, INO)); /* no path leads there any more */
	writers_end(w, 1);
	writers_end(w, 1);
	CHECK_EQ(writers_free_twin(w, INO), 1);
	writers_end(w, 2);
	CHECK_EQ(writers_free_twin(w, INO), 0);
	writers_free(w);
}
