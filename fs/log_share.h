/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bounds each user's part of the log. Equal refusals become a count: the 1st, 10th, 100th ... are
 * logged. A user can write LOG_OF_USER bytes at once and as many again in an hour, so the lines of
 * others stay readable. Root, the plugin and sync are not bounded, but their
 * equal refusals are counted for the journal. Not locked. */
#ifndef FS_LOG_SHARE_H
#define FS_LOG_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct actor;

#define LOG_OF_USER ((size_t)32 << 10)
#define LOG_USERS 256	   /* known users; the one heard longest ago is forgotten */
#define LOG_EQUAL 8	   /* known refusals of one user */
#define LOG_EQUAL_MS 60000 /* a refusal not seen for so long is a new one */

struct log_shares {
	struct log_user *users; /* LOG_USERS places, once a user is known */
};

struct log_told {
	bool tell;
	bool journal; /* also where root is told of each */
	uint64_t
		/* earlier equal ones, the last of which were not logged; 0: it is new */
		again;
	uint64_t skipped; /* other lines of this user that were not logged before it */
};

/* Decides on a line of len bytes. refusal: a hash of what equal ones have in common; 0: not one. */
struct log_told log_share(struct log_shares *s, const struct actor *who, uint64_t refusal,
			  size_t len, uint64_t now_ms);
void log_shares_free(struct log_shares *s);
/* Continues a hash of texts; start with 0. Never returns 0. */
uint64_t log_hash(uint64_t hash, const char *text);

#endif
