// SPDX-License-Identifier: GPL-2.0-or-later
#include "log_share.h"

#include <stdlib.h>

#include "pcidevfs/txn.h"

#define HOUR_MS 3600000ull

struct equal {
	uint64_t refusal; /* 0: none */
	uint64_t count, last_ms;
};

struct log_user {
	uid_t uid;
	bool known, reserve;
	uint64_t last_ms, skipped;
	size_t left; /* bytes */
	struct equal equal[LOG_EQUAL];
};

uint64_t log_hash(uint64_t hash, const char *text)
{
	hash = hash ? hash : 0xcbf29ce484222325ull; /* FNV-1a, including the final NUL */
	do {
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ull;
	} while (*text++);
	return hash ? hash : 1;
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

/* Finds or adds the refusal, and counts it. */
static struct equal *equal_of(struct log_user *u, uint64_t refusal, uint64_t now)
{
	struct equal *e = &u->equal[0];

	for (size_t i = 0; i < LOG_EQUAL; i++) {
		if (u->equal[i].refusal == refusal) {
			e = &u->equal[i];
			break;
		}
		if (u->equal[i].last_ms < e->last_ms)
			e = &u->equal[i];
	}
	if (e->refusal != refusal || now - e->last_ms > LOG_EQUAL_MS)
		*e = (struct equal){ .refusal = refusal };
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

struct log_told log_share(struct log_shares *s, const struct actor *who, uint64_t refusal,
			  size_t len, uint64_t now_ms)
{
	bool bounded = !who->opener.reserve;
	struct log_user *u = bounded || refusal ? user_of(s, &who->opener, now_ms) : NULL;
	struct log_told told = { .tell = true, .journal = true };

	if (!u)
		return told;
	refill(u, now_ms);
	if (refusal) {
		const struct equal *e = equal_of(u, refusal, now_ms);

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
