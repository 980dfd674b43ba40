// SPDX-License-Identifier: GPL-2.0-or-later
#include "log_share.h"

#include <stdlib.h>
#include <string.h>

#include "pcidevfs/txn.h"
#include "pcidevfs/util.h"

#define HOUR_MS 3600000ull

struct equal {
	uint64_t hash; /* 0: none */
	uint64_t count, last_ms;
};

struct log_user {
	uid_t uid;
	bool known, reserve;
	uint64_t last_ms, skipped;
	uint64_t paced_us; /* as of all */
	size_t left; /* bytes */
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
	struct log_user *oldest;

	if (!s->users)
		s->users = calloc(LOG_USERS, sizeof(*s->users));
	oldest = s->users;
	for (size_t i = 0; i < LOG_USERS && s->users; i++) {
		struct log_user *u = &s->users[i];

		if (u->known && u->uid == who->uid && u->reserve == who->reserve)
			return u;
		if (!u->known || (oldest->known && u->last_ms < oldest->last_ms))
			oldest = u;
	}
	if (oldest)
		*oldest = (struct log_user){ .uid = who->uid,
					     .known = true,
					     .reserve = who->reserve,
					     .last_ms = now,
					     .left = LOG_OF_USER };
	return oldest;
}

static void refill(struct log_user *u, uint64_t now)
{
	uint64_t ms = now - u->last_ms,
		 more = LOG_OF_USER * (ms < HOUR_MS ? ms : HOUR_MS) / HOUR_MS;

	if (!more)
		return; /* wait until the time is worth a byte */
	u->left = u->left + more < LOG_OF_USER ? u->left + (size_t)more : LOG_OF_USER;
	u->last_ms = now;
}

/* Finds or adds what has this hash, and counts it. */
static struct equal *equal_of(struct log_user *u, uint64_t hash, uint64_t now)
{
	struct equal *e = &u->equal[0];

	for (size_t i = 0; i < LOG_EQUAL; i++) {
		if (u->equal[i].hash == hash) {
			e = &u->equal[i];
			break;
		}
		if (u->equal[i].last_ms < e->last_ms)
			e = &u->equal[i];
	}
	if (e->hash != hash || now - e->last_ms > LOG_EQUAL_MS)
		*e = (struct equal){ .hash = hash };
	e->count++;
	e->last_ms = now;
	return e;
}

static bool is_round(uint64_t n)
{
	while (n > 1 && n % 10 == 0)
		n /= 10;
	return n == 1;
}

/* Nobody waits longer than most_us for what was changed. */
static void pay(uint64_t *paced, uint64_t price, uint64_t most_us, uint64_t now)
{
	uint64_t most = now + LOG_BURST_US + most_us;

	*paced = (*paced > now ? *paced : now) + price;
	if (*paced > most)
		*paced = most;
}

static uint64_t debt(uint64_t paced, uint64_t now)
{
	return paced > now + LOG_BURST_US ? paced - now - LOG_BURST_US : 0;
}

uint64_t log_wait(const struct log_shares *s, const struct actor *who, uint64_t now_us)
{
	uint64_t own = 0, all = debt(s->paced_us, now_us);

	for (size_t i = 0; i < LOG_USERS && s->users; i++)
		if (s->users[i].known && s->users[i].uid == who->opener.uid &&
		    !s->users[i].reserve)
			own = debt(s->users[i].paced_us, now_us);
	return who->opener.reserve ? 0 : own > all ? own : all;
}

static struct log_told share_change(struct log_shares *s, struct log_user *u, uint64_t equal,
				    size_t len, uint64_t now_us)
{
	const struct equal *e = equal_of(u, equal, now_us / 1000);

	pay(&u->paced_us, LOG_USER_US, LOG_OWN_WAIT_US, now_us);
	pay(&s->paced_us, LOG_ALL_US, LOG_OTHERS_WAIT_US, now_us);
	u->left -= len < u->left ? len : u->left;
	return (struct log_told){ .tell = is_round(e->count),
				  .journal = true,
				  .again = e->count > 1 ? e->count : 0 };
}

struct log_told log_share(struct log_shares *s, const struct actor *who, enum log_about about,
			  uint64_t equal, size_t len, uint64_t now_us)
{
	bool bounded = !who->opener.reserve;
	uint64_t now_ms = now_us / 1000;
	struct log_user *u =
		bounded || about == LOG_REFUSED ? user_of(s, &who->opener, now_ms) : NULL;
	struct log_told told = { .tell = true, .journal = true };

	if (!u)
		return told;
	refill(u, now_ms);
	if (bounded && about == LOG_CHANGED)
		return share_change(s, u, equal, len, now_us);
	if (about == LOG_REFUSED) {
		const struct equal *e = equal_of(u, equal, now_ms);

		told.again = e->count > 1 ? e->count : 0;
		told.journal = is_round(e->count);
		if (!told.journal && bounded)
			return (struct log_told){ .tell = false };
	}
	if (!bounded)
		return told;
	if (len > u->left) {
		u->skipped++;
		return (struct log_told){ .tell = false };
	}
	u->left -= len;
	told.skipped = u->skipped;
	u->skipped = 0;
	return told;
}
