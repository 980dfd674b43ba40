/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks at devices that overlap in time. Nobody waits for another's look, which may hang in the
 * kernel. If two looks saw the same device, the one that began last counts. */
#ifndef PCIDEVFS_BACKEND_VIEWS_H
#define PCIDEVFS_BACKEND_VIEWS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pcidevfs/key.h"

struct newer {
	struct key key;
	uint64_t number; /* of the last look that saw it */
};

/* One look. */
struct view {
	struct view *next;
	uint64_t number;
	struct newer *newer; /* lock; seen by looks that began later and ended first */
	size_t n, cap;
	uint64_t all_newer; /* lock; number of the last such look that saw all devices */
	bool failed;	    /* lock; no memory to note those: the result is unusable, look again */
	struct key at;	    /* lock; the device it is at; BUS_NONE: none */
	uint64_t at_ms;	    /* lock; since when */
	bool left;	    /* lock; nobody waits for it any more */
};

struct views {
	pthread_mutex_t lock;
	uint64_t last;
	struct view *open;
	bool stopped; /* lock */
	struct newer *listed; /* which look has told a device's vGPU types; only ever grows */
	size_t n_listed, cap_listed;
};

/* Call it before the first access. */
void view_begin(struct views *views, struct view *view);
/* Tells older looks that this one is about to publish a device, or all (NULL). Needs the model
 * locked. */
void view_tell(struct views *views, const struct view *view, const struct key *key);
/* Closes the look; its fields do not change any more. Call it with the model locked, before
 * anything is published. */
void view_end(struct views *views, struct view *view);
/* After view_end(): is something newer about this device published already? */
bool view_is_old(const struct view *view, const struct key *key);
/* For view_saw_later(): all looks that begin from here on are later. */
uint64_t views_now(struct views *views);
/* Did a look later than `than` publish this device while this one was open? */
bool view_saw_later(struct views *views, const struct view *view, const struct key *key,
		    uint64_t than);
/* It is about to publish the vGPU types of a device, which may be all that it has read of it. False:
 * a later look has. */
bool view_lists(struct views *views, const struct view *view, const struct key *key);
void view_free(struct view *view);

/* The look goes on to this device; NULL: it is done with devices. */
void view_at(struct views *views, struct view *view, const struct key *key);
/* Has it been at one device for ms? */
bool view_is_late(struct views *views, const struct view *view, unsigned int ms);
void view_leave(struct views *views, struct view *view);
/* Must the look leave this device out? Another one, which was abandoned, has been at it for ms; or
 * nobody waits for this look any more; or all are to end. */
bool view_skips(struct views *views, const struct view *view, const struct key *key,
		unsigned int ms);
/* All looks go no further. */
void views_stop(struct views *views);

#endif
