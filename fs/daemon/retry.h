/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When the next serving process starts after one ended, and when to give up. Pure. */
#ifndef FS_RETRY_H
#define FS_RETRY_H

#include <stdbool.h>

enum server_end {
	SERVER_SERVED, /* until it was told to end, or killed from outside */
	SERVER_KILLED, /* from outside, before it served */
	SERVER_FAILED, /* by a fault of its own, soon after it had served */
	SERVER_UNBORN, /* likewise, before it served */
};

/* Consecutive failures; reset once a process has served. */
struct retry {
	unsigned int failed, killed;
	unsigned int unborn; /* those of failed that never served */
	enum server_end last;
};

void retry_note(struct retry *r, enum server_end how);
/* The pause before the next start. */
unsigned int retry_pause_ms(const struct retry *r);
/* What former processes know, and the next one would read, may be what ends them: how much of it is
 * to be forgotten before the next start. */
enum to_forget { FORGET_NOTHING, FORGET_MODEL, FORGET_OPERATIONS };
enum to_forget retry_forget(const struct retry *r);
/* None will ever serve: callers should get an error instead of waiting. */
bool retry_hopeless(const struct retry *r);

#endif
