/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks at devices that overlap in time. Nobody waits for another's look, which may hang in the
 * kernel; of two that saw the same device, the one that was begun last counts.
 */
#ifndef PCIDEVFS_BACKEND_VIEWS_H
#define PCIDEVFS_BACKEND_VIEWS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pcidevfs/key.h"

struct newer {
	struct key key;
	uint64_t number; /* of the last that saw it */
};

/* One look, by whoever looks. */
struct view {
	struct view *next;
	uint64_t number;
	uint64_t began_us;
	struct newer *newer; /* lock; seen by looks that were begun later and have ended first */
	size_t n, cap;
	uint64_t all_newer; /* lock; number of the last of those that saw all */
	bool failed;	    /* lock; no memory to note them: what it saw is lost, look again */
	struct key at;	    /* lock; the device it is at, of no bus: none */
	uint64_t at_ms;	    /* lock; since when */
	bool left;	    /* lock; nobody waits for it any more */
};

struct views {
	pthread_mutex_t lock;
	uint64_t last;
	struct view *open;
};

/* Before the first access. */
void view_begin(struct views *views, struct view *view);
/* What it saw of this device, NULL of all, is about to be published; with the model locked. */
void view_tell(struct views *views, const struct view *view, const struct key *key);
/* No longer open; from here on its own fields stay. With the model locked, before anything is
 * published. */
void view_end(struct views *views, struct view *view);
/* After view_end(): something newer than what it saw of this device is published already. */
bool view_is_old(const struct view *view, const struct key *key);
/* What view_saw_later() compares with: whatever is begun from here on is later. */
uint64_t views_now(struct views *views);
/* After view_end(): who looked at this device later than that has published what it saw. */
bool view_saw_later(const struct view *view, const struct key *key, uint64_t than);
void view_free(struct view *view);

/* It goes on to this device; NULL: it is done with them. */
void view_at(struct views *views, struct view *view, const struct key *key);
/* It has been at one device for so long. */
bool view_is_late(struct views *views, const struct view *view, unsigned int ms);
void view_leave(struct views *views, struct view *view);
/* Another one, which was left, has been at this device for so long. */
bool view_hangs(struct views *views, const struct key *key, unsigned int ms);

#endif
