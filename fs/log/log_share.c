// SPDX-License-Identifier: GPL-2.0-or-later
#include "log_share.h"

#include <stdlib.h>
#include <string.h>

#include "pcidevfs/txn.h"
#include "pcidevfs/util.h"

#define HOUR_US 3600000000ull

struct equal {
	uint64_t hash; /* 0: none */
	uint64_t count, last_us;
};

struct log_user {
	uid_t uid;
	bool known, reserve;
	uint64_t last_us, skipped;
	uint64_t paced_us, written_us; /* up to which changes, and bytes, are paid for */
	struct equal equal[LOG_EQUAL];
};

uint64_t log_hash(uint64_t hash, const char *text)
{
	return fnv1a(hash ?: FNV1A, text, strlen(text) + 1) ?: 1; /* the NUL ends the text */
}

void log_shares_free(struct log_shares *s)
{
	free(s->users);
	s->users = NULL;
}

/* NULL: no memory. */
static struct log_user *user_of(struct log_shares *s, const struct creds *who, uint64_t now)
{
	struct log_user *oldest, *u;

	if (!s->users)
		s->users = calloc(LOG_USERS, sizeof(*s->users));
	oldest = s->users;
	for (u = s->users; u && u < s->users + LOG_USERS; u++) {
		if (u->known && u->uid == who->uid && u->reserve == who->reserve) {
			u->last_us = now;
			return u;
		}
		if (!u->known || (oldest->known && u->last_us < oldest->last_us))
			oldest = u;
	}
	if (oldest)
		*oldest = (struct log_user){
			.uid = who->uid, .known = true, .reserve = who->reserve, .last_us = now
		};
	return oldest;
}

/* Finds or adds what has this hash, and counts it. */
static uint64_t count_equal(struct log_user *u, uint64_t hash, uint64_t now)
{
	struct equal *e = &u->equal[0];

	for (size_t i = 0; i < LOG_EQUAL; i++) {
		if (u->equal[i].hash == hash) {
			e = &u->equal[i];
			break;
		}
		if (u->equal[i].last_us < e->last_us)
			e = &u->equal[i];
	}
	if (e->hash != hash || now - e->last_us > LOG_EQUAL_MS * 1000)
		*e = (struct equal){ .hash = hash };
	e->last_us = now;
	return ++e->count;
}

static bool is_round(uint64_t n)
{
	while (n > 1 && n % 10 == 0)
		n /= 10;
	return n == 1;
}

/* Returns false, and takes nothing, if that is paid for later than `most` after now. */
static bool pay(uint64_t *paid, uint64_t price, uint64_t most, uint64_t now)
{
	uint64_t until = (*paid > now ? *paid : now) + price;

	if (until <= now + most)
		*paid = until;
	return until <= now + most;
}

static void pay_all(uint64_t *paid, uint64_t price, uint64_t most, uint64_t now)
{
	if (!pay(paid, price, most, now))
		*paid = now + most;
}

static uint64_t debt(uint64_t paced, uint64_t now)
{
	return paced > now + LOG_BURST_US ? paced - now - LOG_BURST_US : 0;
}

uint64_t log_wait(const struct log_shares *s, const struct actor *who, uint64_t now_us)
{
	uint64_t own = 0, all = debt(s->paced_us, now_us);

	for (size_t i = 0; i < LOG_USERS && s->users; i++)
		if (s->users[i].known && s->users[i].uid == who->opener.uid && !s->users[i].reserve)
			own = debt(s->users[i].paced_us, now_us);
	return who->opener.reserve ? 0 : own > all ? own : all;
}

struct log_told log_share(struct log_shares *s, const struct actor *who, enum log_about about,
			  uint64_t equal, size_t len, uint64_t now)
{
	struct log_told told = { .tell = true, .journal = true };
	bool bounded = !who->opener.reserve;
	struct log_user *u = bounded || about == LOG_REFUSED ? user_of(s, &who->opener, now) : NULL;
	uint64_t price = len * HOUR_US / LOG_OF_USER, n = 1;

	if (!u)
		return told;
	if (about != LOG_IDLE)
		n = count_equal(u, equal, now);
	told.again = n > 1 ? n : 0;
	if (about == LOG_CHANGED) { /* never lost: the user waits for the journal */
		pay_all(&u->paced_us, LOG_USER_US, LOG_BURST_US + LOG_OWN_WAIT_US, now);
		pay_all(&s->paced_us, LOG_ALL_US, LOG_BURST_US + LOG_OTHERS_WAIT_US, now);
		pay_all(&u->written_us, price, HOUR_US, now);
		told.tell = is_round(n);
		return told;
	}
	told.journal = is_round(n);
	if (!bounded)
		return told;
	if (!told.journal)
		return (struct log_told){ .tell = false };
	if (!pay(&u->written_us, price, HOUR_US, now)) {
		u->skipped++;
		return (struct log_told){ .tell = false };
	}
	told.skipped = u->skipped;
	u->skipped = 0;
	return told;
}
