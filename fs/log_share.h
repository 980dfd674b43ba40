/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much of the log one user gets. Equal refusals in a row become a count: the 1st, 10th, 100th
 * ... of them are told. Whatever he does, he has LOG_OF_USER bytes at once, and as many again in an
 * hour: what others did stays readable. Root, the plugin and sync are not bounded. Not locked.
 */
#ifndef FS_LOG_SHARE_H
#define FS_LOG_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct actor;

#define LOG_OF_USER ((size_t)32 << 10)
#define LOG_USERS 256	   /* who is known; the one that was last heard longest ago is forgotten */
#define LOG_EQUAL 8	   /* refusals of one user that are known */
#define LOG_EQUAL_MS 60000 /* after so long without it a refusal is a new one */

struct log_shares {
	struct log_user *users; /* LOG_USERS places once the first is known */
};

struct log_told {
	bool tell;
	uint64_t
		/* equal ones until now, of which the last ones were not told; 0: it is new */
		again;
	uint64_t skipped; /* others of this user that were not told before it */
};

/* A verdict; refusal: a hash of all that equal ones have in common, 0: it is none. len: of its
 * line. */
struct log_told log_share(struct log_shares *s, const struct actor *who, uint64_t refusal,
			  size_t len, uint64_t now_ms);
void log_shares_free(struct log_shares *s);
/* Goes on with a hash of texts, which begins with 0 and never is 0 again. */
uint64_t log_hash(uint64_t hash, const char *text);

#endif
