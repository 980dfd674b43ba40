// SPDX-License-Identifier: GPL-2.0-or-later
/* Users take turns, whoever asks how often. */
#include <string.h>

#include "fs/session/crowd.h"
#include "test.h"

static struct crowd crowd;

static void put(uint32_t uid, char c)
{
	CHECK(crowd_put(&crowd, uid, &c, 1));
}

static void takes(const char *want)
{
	char got[CROWD_MAX + 1] = "";
	size_t n = 0;

	while (n < CROWD_MAX && crowd_take(&crowd, &got[n]))
		n++;
	CHECK_STR(got, want);
}

DEFINE_TEST(crowd_lets_users_take_turns)
{
	crowd_init(&crowd);
	takes("");
	for (const char *c = "abcd"; *c; c++)
		put(1000, *c);
	put(0, 'x');
	put(77, '1');
	put(0, 'y');
	takes("ax1bycd");
	/* Who had the last turn comes behind who has had none for long. */
	put(1000, 'a');
	put(77, '1');
	takes("1a");
}

DEFINE_TEST(crowd_is_full_and_keeps_what_it_has)
{
	static char long_one[CROWD_SIZE + 1], got[CROWD_SIZE];

	crowd_init(&crowd);
	CHECK(!crowd_put(&crowd, 0, long_one, sizeof(long_one)));
	for (int i = 0; i < CROWD_MAX; i++) {
		memset(long_one, i, CROWD_SIZE);
		CHECK(crowd_put(&crowd, 5, long_one, CROWD_SIZE));
	}
	CHECK(!crowd_put(&crowd, 6, "x", 1));
	for (int i = 0; i < CROWD_MAX; i++) {
		CHECK_EQ(crowd_take(&crowd, got), CROWD_SIZE);
		CHECK_EQ(got[0], (char)i);
		CHECK_EQ(got[CROWD_SIZE - 1], (char)i);
	}
	CHECK_EQ(crowd_take(&crowd, got), 0);
}
