/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When a serving process that ended is followed by the next one, and when no more. Pure. */
#ifndef FS_RETRY_H
#define FS_RETRY_H

#include <stdbool.h>

enum server_end {
	SERVER_SERVED, /* until it was told to end, or killed from outside */
	SERVER_KILLED, /* from outside, before it served */
	SERVER_FAILED, /* by a fault of its own */
};

/* In a row: all is forgiven once one has served. */
struct retry {
	unsigned int failed, killed;
};

void retry_note(struct retry *r, enum server_end how);
/* How long the next start waits. */
unsigned int retry_pause_ms(const struct retry *r);
/* One will never serve; those who wait for it should get an error. */
bool retry_hopeless(const struct retry *r);

#endif
