// SPDX-License-Identifier: GPL-2.0-or-later
/* Who has a reserve takes turns with all others, whoever asks how often. */
#include <string.h>

#include "fs/session/crowd.h"
#include "test.h"

static struct crowd crowd;

static void put(bool reserve, char c)
{
	CHECK(crowd_put(&crowd, reserve, &c, 1));
}

static void takes(const char *want)
{
	char got[CROWD_MAX + 1] = "";
	size_t n = 0;

	while (n < CROWD_MAX && crowd_take(&crowd, &got[n]))
		n++;
	CHECK_STR(got, want);
}

DEFINE_TEST(crowd_lets_two_classes_take_turns)
{
	crowd_init(&crowd);
	takes("");
	for (const char *c = "abcd"; *c; c++)
		put(false, *c);
	put(true, 'x');
	put(true, 'y');
	takes("xaybcd");
	put(false, 'a');
	put(true, 'x');
	takes("xa");
	/* Neither can starve the other. */
	for (const char *c = "xyz"; *c; c++)
		put(true, *c);
	put(false, 'a');
	takes("xayz");
}

DEFINE_TEST(crowd_is_full_and_keeps_what_it_has)
{
	static char long_one[CROWD_SIZE + 1], got[CROWD_SIZE];

	crowd_init(&crowd);
	CHECK(!crowd_put(&crowd, false, long_one, sizeof(long_one)));
	for (int i = 0; i < CROWD_MAX; i++) {
		memset(long_one, i, CROWD_SIZE);
		CHECK(crowd_put(&crowd, true, long_one, CROWD_SIZE));
	}
	CHECK(!crowd_put(&crowd, true, "x", 1));
	for (int i = 0; i < CROWD_MAX; i++) {
		CHECK_EQ(crowd_take(&crowd, got), CROWD_SIZE);
		CHECK_EQ(got[0], (char)i);
		CHECK_EQ(got[CROWD_SIZE - 1], (char)i);
	}
	CHECK_EQ(crowd_take(&crowd, got), 0);
}
