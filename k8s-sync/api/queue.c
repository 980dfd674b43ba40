// SPDX-License-Identifier: GPL-2.0-or-later
#include "queue.h"

#include "http.h"

void queue_init(struct queue *q)
{
	q->first = NULL;
	q->last = &q->first;
}

void queue_put(struct queue *q, struct call *c)
{
	struct call **at = c->rank == RANK_BULK ? q->last : &q->first;

	while (*at && (*at)->rank >= c->rank)
		at = &(*at)->next;
	c->next = *at;
	*at = c;
	if (!c->next)
		q->last = &c->next;
}

struct call *queue_take(struct queue *q)
{
	struct call *c = q->first;

	queue_remove(q, c);
	return c;
}

void queue_remove(struct queue *q, struct call *c)
{
	struct call **at = &q->first;

	while (*at && *at != c)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = c->next;
	if (q->last == &c->next)
		q->last = at;
}
