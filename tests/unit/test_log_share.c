// SPDX-License-Identifier: GPL-2.0-or-later
/* How much of the log one user gets. */
#include "fs/log_share.h"
#include "pcidevfs/txn.h"
#include "test.h"

static const struct actor alice = { .opener.uid = 1000 }, bob = { .opener.uid = 1001 },
			  root = { .opener.reserve = true };

DEFINE_TEST(log_equal_refusals_are_counted)
{
	struct log_shares s = { 0 };
	uint64_t refusal = log_hash(log_hash(0, "claim"), "no"), other = log_hash(0, "claimno");
	unsigned int told = 0;

	CHECK(refusal != other);
	for (unsigned int i = 1; i <= 1000; i++) {
		struct log_told t = log_share(&s, &alice, refusal, 100, i);

		told += t.tell;
		CHECK_EQ(t.tell, i == 1 || i == 10 || i == 100 || i == 1000);
		CHECK_EQ(t.again, t.tell && i > 1 ? i : 0);
		t = log_share(&s, &root, refusal, 100, i);
		CHECK(t.tell);
		CHECK_EQ(t.journal, i == 1 || i == 10 || i == 100 || i == 1000);
		CHECK_EQ(t.again, i > 1 ? i : 0);
	}
	CHECK_EQ(told, 4);
	CHECK(log_share(&s, &alice, other, 100, 1000).tell);
	CHECK(log_share(&s, &bob, refusal, 100, 1000).tell);
	CHECK(!log_share(&s, &alice, refusal, 100, 1000).tell);
	CHECK(log_share(&s, &alice, refusal, 100, 1001 + LOG_EQUAL_MS).tell); /* after a pause */
	log_shares_free(&s);
}

DEFINE_TEST(log_of_one_user_is_bounded)
{
	struct log_shares s = { 0 };
	struct log_told t;
	size_t told = 0;

	/* Whether it succeeds or fails each time in another way. */
	for (uint64_t i = 1; i <= 10000; i++)
		told += log_share(&s, &alice, i % 2 ? i : 0, 128, 5).tell;
	CHECK_EQ(told, LOG_OF_USER / 128);
	CHECK(log_share(&s, &bob, 0, 128, 5).tell);
	CHECK(log_share(&s, &root, 0, 128, 5).tell);
	/* A line in some 14 s, however often he asks meanwhile. */
	told = 0;
	for (uint64_t ms = 5; ms < 60005; ms++)
		told += log_share(&s, &alice, 0, 128, ms).tell;
	CHECK_EQ(told, 4);
	t = log_share(&s, &alice, 0, 128, 3700000);
	CHECK(t.tell);
	CHECK(t.skipped > 1000);
	log_shares_free(&s);
}

DEFINE_TEST(log_knows_so_many_users)
{
	struct log_shares s = { 0 };
	struct actor who = { 0 };

	for (who.opener.uid = 1; who.opener.uid <= 2 * LOG_USERS; who.opener.uid++)
		CHECK(log_share(&s, &who, 7, 100, who.opener.uid).tell);
	for (who.opener.uid = LOG_USERS + 1; who.opener.uid <= 2 * LOG_USERS; who.opener.uid++)
		CHECK(!log_share(&s, &who, 7, 100, 2000).tell);
	log_shares_free(&s);
}
