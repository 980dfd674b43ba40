// SPDX-License-Identifier: GPL-2.0-or-later
/* How much of the log one user gets. */
#include "fs/log/log_share.h"
#include "pcidevfs/txn.h"
#include "test.h"

static const struct actor alice = { .opener.uid = 1000 }, bob = { .opener.uid = 1001 },
			  root = { .opener.reserve = true };

/* now in ms; a refusal, or with 0 what changed nothing. */
static struct log_told share(struct log_shares *s, const struct actor *who, uint64_t refusal,
			     size_t len, uint64_t now)
{
	return log_share(s, who, refusal ? LOG_REFUSED : LOG_IDLE, refusal, len, 1000 * now);
}

DEFINE_TEST(log_equal_refusals_are_counted)
{
	struct log_shares s = { 0 };
	uint64_t refusal = log_hash(log_hash(0, "claim"), "no"), other = log_hash(0, "claimno");
	unsigned int told = 0;

	CHECK(refusal != other);
	for (unsigned int i = 1; i <= 1000; i++) {
		struct log_told t = share(&s, &alice, refusal, 100, i);

		told += t.tell;
		CHECK_EQ(t.tell, i == 1 || i == 10 || i == 100 || i == 1000);
		CHECK_EQ(t.again, t.tell && i > 1 ? i : 0);
		t = share(&s, &root, refusal, 100, i);
		CHECK(t.tell);
		CHECK_EQ(t.journal, i == 1 || i == 10 || i == 100 || i == 1000);
		CHECK_EQ(t.again, i > 1 ? i : 0);
	}
	CHECK_EQ(told, 4);
	CHECK(share(&s, &alice, other, 100, 1000).tell);
	CHECK(share(&s, &bob, refusal, 100, 1000).tell);
	CHECK(!share(&s, &alice, refusal, 100, 1000).tell);
	CHECK(share(&s, &alice, refusal, 100, 1001 + LOG_EQUAL_MS).tell); /* after a pause */
	log_shares_free(&s);
}

DEFINE_TEST(log_of_one_user_is_bounded)
{
	struct log_shares s = { 0 };
	struct log_told t;
	size_t told = 0;

	/* Whether it succeeds or fails each time in another way. */
	for (uint64_t i = 1; i <= 10000; i++)
		told += share(&s, &alice, i % 2 ? i : 0, 128, 5).tell;
	CHECK_EQ(told, LOG_OF_USER / 128);
	CHECK(share(&s, &bob, 0, 128, 5).tell);
	CHECK(share(&s, &root, 0, 128, 5).tell);
	/* A line in some 14 s, however often he asks meanwhile. */
	told = 0;
	for (uint64_t ms = 5; ms < 60005; ms++)
		told += share(&s, &alice, 0, 128, ms).tell;
	CHECK_EQ(told, 4);
	t = share(&s, &alice, 0, 128, 3700000);
	CHECK(t.tell);
	CHECK(t.skipped > 1000);
	log_shares_free(&s);
}

DEFINE_TEST(log_knows_so_many_users)
{
	struct log_shares s = { 0 };
	struct actor who = { 0 };

	for (who.opener.uid = 1; who.opener.uid <= 2 * LOG_USERS; who.opener.uid++)
		CHECK(share(&s, &who, 7, 100, who.opener.uid).tell);
	for (who.opener.uid = LOG_USERS + 1; who.opener.uid <= 2 * LOG_USERS; who.opener.uid++)
		CHECK(!share(&s, &who, 7, 100, 2000).tell);
	log_shares_free(&s);
}

/* The journal gets each write that changed something; the log gets only some of many equal ones. */
DEFINE_TEST(log_changes_are_never_lost)
{
	struct log_shares s = { 0 };
	struct log_told t;

	for (uint64_t i = 1; i <= 10000; i++) {
		t = log_share(&s, &alice, LOG_CHANGED, i, 128, 1000);
		CHECK(t.tell && t.journal && !t.again);
	}
	for (uint64_t i = 1; i <= 1000; i++) {
		uint64_t half = (i + 1) / 2;
		bool is_round = half == 1 || half == 10 || half == 100;

		t = log_share(&s, &bob, LOG_CHANGED, 7 + i % 2, 128, 1000 + i);
		CHECK(t.journal);
		CHECK_EQ(t.tell, is_round);
		CHECK_EQ(t.again, half > 1 ? half : 0);
		t = log_share(&s, &root, LOG_CHANGED, 7 + i % 2, 128, 1000 + i);
		CHECK(t.tell && t.journal && !t.again);
	}
	/* A refusal finds nothing left of the share. */
	CHECK(!share(&s, &alice, 5, 128, 1).tell);
	log_shares_free(&s);
}

/* The journal takes 10000 lines in 30 s, of all. */
DEFINE_TEST(log_changes_wait_for_the_journal)
{
	struct actor who = { 0 };
	struct log_shares s = { 0 };
	uint64_t now = 1, n = 0;

	CHECK_EQ(log_wait(&s, &alice, now), 0);
	for (; now < 30000000; n++) {
		log_share(&s, &alice, LOG_CHANGED, n, 128, now);
		CHECK_EQ(log_wait(&s, &root, now), 0);
		now += log_wait(&s, &alice, now);
		CHECK_EQ(log_wait(&s, &bob, now), 0); /* is not slowed by that */
	}
	CHECK(n > 3000 && n < 3300);
	for (n = 0; now < 60000000; n += 100) {
		for (who.opener.uid = 1; who.opener.uid <= 100; who.opener.uid++)
			log_share(&s, &who, LOG_CHANGED, n + who.opener.uid, 128, now);
		who.opener.uid = 7;
		now += log_wait(&s, &who, now);
	}
	CHECK(n < 8000);
	log_shares_free(&s);
}
