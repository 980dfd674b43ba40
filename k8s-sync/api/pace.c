// SPDX-License-Identifier: GPL-2.0-or-later
#include "pace.h"

#include "pcidevfs/util.h"

enum {
	RATE = 20, /* requests a second */
	BURST = 1000,
	SPARE = 50,    /* of it, not for the bulk */
	BULK_EACH = 8, /* each eighth of the others is one of the bulk */
	AWAY_MS = 800, /* first pause, doubled */
	AWAY_MAX_MS = 30000,
};

void pace_start(struct pace *p, uint64_t now)
{
	*p = (struct pace){ .tokens = BURST, .tokens_at = now };
}

uint64_t pace_at(struct pace *p, uint64_t now, enum rank rank)
{
	static const int needed[] = { [RANK_BULK] = SPARE + 1, [RANK_SOON] = 1 };

	p->tokens += (double)(now - p->tokens_at) * RATE / 1000;
	p->tokens = p->tokens > BURST ? BURST : p->tokens;
	p->tokens_at = now;
	if (p->until > now)
		return p->until;
	if (rank == RANK_URGENT || p->tokens >= needed[rank])
		return now;
	return now + (uint64_t)((needed[rank] - p->tokens) * 1000 / RATE + 0.999);
}

void pace_spend(struct pace *p)
{
	p->tokens--;
}

/* A hundred nodes do not come back at once: from a quarter of the pause to five quarters. */
void pace_away(struct pace *p, uint64_t now, unsigned int seconds, unsigned int random)
{
	unsigned int ms;

	if (p->until > now) {
		if (p->until < now + seconds * 1000ull)
			p->until = now + seconds * 1000ull;
		return;
	}
	ms = back_off(&p->pause, AWAY_MS, AWAY_MAX_MS);
	p->until = now + seconds * 1000ull + ms / 4 + random % (ms + 1);
}

void pace_back(struct pace *p)
{
	p->pause = 0;
}

/* ---- the queue */

void queue_init(struct queue *q)
{
	q->first = NULL;
	q->soon = 0;
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

/* The first one of the bulk comes before what comes soon, and counts as such. */
static void lift_bulk(struct queue *q)
{
	struct call *c = q->first, **at = &q->first;

	while (c && c->rank != RANK_BULK)
		c = c->next;
	if (!c)
		return;
	queue_remove(q, c);
	c->rank = RANK_SOON;
	while (*at && (*at)->rank > RANK_SOON)
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
	q->soon += c->rank == RANK_SOON;
	if (q->soon == BULK_EACH - 1) {
		q->soon = 0;
		lift_bulk(q);
	}
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
