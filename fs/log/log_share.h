/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bounds each user's part of the log. Equal refusals become a count: the 1st, 10th, 100th ... are
 * logged, and equal changes likewise, for example by turns 0 and 1. Of refusals, and of what
 * changed nothing, a user can write LOG_OF_USER bytes at once and as many again in an hour. What
 * changed something is always logged: in the log the ring keeps others' lines (LOG_OF_USER is the
 * share that stays of each user), and the journal gets each change, because the user is slowed down
 * below what journald takes. Root, the plugin and sync are not bounded, but their equal refusals
 * are counted for the journal. Not locked. */
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

/* journald takes 10000 lines of a service in 30 s. */
#define LOG_USER_US 10000  /* a change of one user in so long ... */
#define LOG_ALL_US 4000	   /* ... and of all who are bounded, */
#define LOG_BURST_US 1000000 /* and so many at once as in this time. */
#define LOG_OWN_WAIT_US 10000000   /* A user waits so long at most for what the user has changed, */
#define LOG_OTHERS_WAIT_US 1000000 /* and for what others have. */

struct log_shares {
	struct log_user *users; /* LOG_USERS places, once a user is known */
	uint64_t paced_us; /* time of now_us() up to which changes are paid for */
};

/* The line is about ... */
enum log_about { LOG_IDLE, LOG_REFUSED, LOG_CHANGED };

struct log_told {
	bool tell;
	bool journal; /* also where root is told of each, and what a user has changed */
	uint64_t
		/* earlier equal ones, the last of which were not logged; 0: it is new */
		again;
	uint64_t skipped; /* other lines of this user that were not logged before it */
};

/* Decides on a line of len bytes. equal: a hash of what equal ones have in common. */
struct log_told log_share(struct log_shares *s, const struct actor *who, enum log_about about,
			  uint64_t equal, size_t len, uint64_t now_us);
/* How long the user has to wait until the changes are paid for, in us. */
uint64_t log_wait(const struct log_shares *s, const struct actor *who, uint64_t now_us);
void log_shares_free(struct log_shares *s);
/* Continues a hash of texts; start with 0. Never returns 0. */
uint64_t log_hash(uint64_t hash, const char *text);

#endif
