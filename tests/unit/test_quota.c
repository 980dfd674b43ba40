// SPDX-License-Identifier: GPL-2.0-or-later
/* How much of something each user may have. */
#include <errno.h>

#include "pcidevfs/creds.h"
#include "pcidevfs/err.h"
#include "pcidevfs/quota.h"
#include "test.h"

static const struct creds alice = { .uid = 1 }, bob = { .uid = 2 }, eve = { .uid = 3 },
			  root = { .uid = 1, .reserve = true };

DEFINE_TEST(quota_leaves_something_for_the_next)
{
	struct quota q = { .what = "cups", .of_user = 8, .of_all = 12 };
	struct err err = { 0 };

	CHECK_EQ(quota_take(&q, &alice, 8, &err), 0);
	CHECK_EQ(quota_take(&q, &alice, 1, &err), -EMFILE);
	CHECK_STR(err.text, "user 1 has 8 cups, which is the most for one user; close some");
	CHECK_EQ(quota_take(&q, &root, 100, &err), 0); /* the same number, and not counted */
	CHECK_EQ(quota_of(&q, &root), 0);
	CHECK_EQ(quota_take(&q, &bob, 2, &err), 0);
	CHECK_EQ(quota_take(&q, &bob, 1, &err), -EMFILE);
	CHECK_STR(err.text, "user 2 has 2 cups, which is the most for one user while others have "
			    "so many; close some");
	CHECK_EQ(quota_take(&q, &eve, 3, &err), -ENFILE);
	CHECK_STR(err.text, "users have 10 cups, which is the most for all; try again when some "
			    "are closed");
	CHECK_EQ(quota_take(&q, &eve, 1, &err), 0);
	quota_give(&q, &alice, 8);
	CHECK_EQ(q.used, 3);
	CHECK_EQ(quota_take(&q, &bob, 3, &err), 0);
	CHECK_EQ(quota_of(&q, &bob), 5);
	quota_free(&q);
}

DEFINE_TEST(quota_first_piece_may_be_large)
{
	struct quota q = { .what = "MiB", .unit = 1 << 20, .of_user = 4 << 20, .of_all = 16 << 20,
			   .code = ENOMEM };
	struct err err = { 0 };

	CHECK_EQ(quota_take(&q, &alice, 10 << 20, &err), 0);
	CHECK_EQ(quota_take(&q, &alice, 1, &err), -ENOMEM);
	CHECK_STR(err.text, "user 1 has 10 MiB, which is the most for one user; close some");
	CHECK_EQ(quota_take(&q, &bob, 7 << 20, &err), -ENOMEM);
	quota_free(&q);
}

DEFINE_TEST(quota_tells_once)
{
	struct quota q = { .what = "cups", .of_user = 8, .of_all = 12 };

	CHECK_EQ(quota_count(&q, &alice, 9), 0);
	CHECK(!quota_told(&q, 1));
	CHECK(quota_told(&q, 1));
	CHECK(!quota_told(&q, 2)); /* who has none: once for all of them */
	CHECK(quota_told(&q, 3));
	quota_give(&q, &alice, 9);
	CHECK(!quota_told(&q, 3));
	CHECK_EQ(quota_count(&q, &alice, 1), 0);
	CHECK(!quota_told(&q, 1));
	quota_free(&q);
}
