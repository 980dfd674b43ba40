/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looking at devices: from the machine to the model. Nobody waits for another's look, which may
 * hang in the kernel, so looks overlap in time. If two of them saw the same device, the one that
 * began last counts. */
#ifndef BACKEND_LOOK_H
#define BACKEND_LOOK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/pci/slots.h"
#include "newest.h"
#include "pcidevfs/key.h"

struct backend;
struct facts;

/* A function to observe. removed: number of the uevent that removed it in between, 0 none: the
 * function found now is another one, unless it was first seen after that. */
struct touched {
	struct key key;
	uint64_t removed;
	uint64_t heard; /* looks.last at the last event */
	uint64_t heard_ms; /* when the first one was heard; 0: none */
	bool alone; /* read only what rows keep beside its facts (ops.h) */
	bool unbound; /* its driver was heard to leave it */
};

struct looks {
	_Atomic uint64_t last; /* number of the one that began last */
	/* With the model locked: which of them has published a device last, or all devices, or what
	 * is kept of it beside its facts, which may be all that it has read. */
	struct newest seen, extra;
	uint64_t all;
	pthread_mutex_t lock;
	struct pci_slots *slots; /* lock; as the last look has read them; NULL: none has */
	struct look *left; /* lock; those that nobody waits for any more */
	bool stopped;	   /* lock; none goes any further */
};

struct look {
	struct backend *b;
	uint64_t number;
	struct look *next;
	struct key at;	/* looks.lock; the device it is at; BUS_NONE: none */
	uint64_t at_ms; /* looks.lock; since when */
	bool over, left; /* looks.lock */
	int rc;		 /* looks.lock */
	pthread_cond_t ended;
	atomic_int tid;
	unsigned int patience_ms;
	struct pci_slots *slots; /* once it has come to a function; NULL: not yet */
	bool all;
	size_t n;
	struct touched v[];
};

/* Observes these functions (NULL: all; others are then removed from the model) and the PF of each
 * VF, and publishes. Returns 0; -ETIMEDOUT: a device was left out because it did not answer within
 * patience_ms, or another look has waited that long for it; -ENOMEM. */
int look_at(struct backend *b, const struct touched *v, size_t n, unsigned int patience_ms);
/* Likewise on the calling thread, without a time limit: scan.c. */
int look_scan(struct look *l);
/* The look goes on to this device (NULL: it is done with devices). False: it must leave it out,
 * because another one, which was abandoned, has been at it for as long as this one would wait; or
 * nobody waits for this look any more; or all are to end. */
bool look_goes_to(struct look *l, const struct key *key);
/* Reads all facts of a device that the look has gone to: as bus_ops.observe, and its slot. */
int look_observe(struct look *l, const struct key *dev, struct facts *ret);
/* Has a later look published this device? Call it with the model locked. */
bool look_is_old(const struct look *l, const struct key *key);
/* Has one that began after number `than` done so? */
bool looked_since(struct backend *b, const struct key *key, uint64_t than);
/* All looks go no further. */
void looks_stop(struct looks *looks);
/* For events: far more than the slowest device takes, short for those who wait for another one. */
#define PATIENCE_MS 300
/* For operations, which are refused. */
#define ACT_PATIENCE_MS 5000
/* Members of an IOMMU group, or children: beyond it all devices are looked at. */
#define GROUP_MAX 256

#endif
