/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls that wait to be sent: by rank, and in each rank in the order they came. Pure. */
#ifndef SYNC_QUEUE_H
#define SYNC_QUEUE_H

struct call;

struct queue {
	struct call *first, **last;
};

void queue_init(struct queue *q);
void queue_put(struct queue *q, struct call *c);
/* The first one, which must be there. */
struct call *queue_take(struct queue *q);
/* Does nothing if it is not in the queue. */
void queue_remove(struct queue *q, struct call *c);

#endif
