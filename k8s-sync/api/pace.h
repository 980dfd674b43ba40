/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which request is sent next, and when: a rate limit of our own, and pauses while the server is
 * away or asks for patience. Pure: the times, in ms, are the caller's. */
#ifndef SYNC_PACE_H
#define SYNC_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "http.h"

struct pace {
	double tokens;
	uint64_t tokens_at, until;
	unsigned int pause; /* the last one; 0: the server answers */
};

void pace_start(struct pace *p, uint64_t now);
/* Returns when the next request may be sent: now, or later. An urgent one has no rate limit, and
 * the bulk leaves something for what comes soon. */
uint64_t pace_at(struct pace *p, uint64_t now, enum rank rank);
/* One that is not urgent was sent. */
void pace_spend(struct pace *p);
/* The server is away, or asks for so many seconds (0: for none); random decides the jitter. */
void pace_away(struct pace *p, uint64_t now, unsigned int seconds, unsigned int random);
/* The server answered. */
void pace_back(struct pace *p);
/* Until it does, one request at a time looks whether it is back. */
static inline bool pace_probes(const struct pace *p)
{
	return p->pause;
}

/* Calls that wait to be sent: by rank, and in each rank in the order they came; but what comes soon
 * lets one of the bulk pass now and then, lest that waits for ever. */
struct queue {
	struct call *first, **last;
	unsigned int soon; /* how many of those were taken since */
};

void queue_init(struct queue *q);
void queue_put(struct queue *q, struct call *c);
/* The first one, which must be there. */
struct call *queue_take(struct queue *q);
/* Does nothing if it is not in the queue. */
void queue_remove(struct queue *q, struct call *c);

#endif
