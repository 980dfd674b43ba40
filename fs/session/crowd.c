// SPDX-License-Identifier: GPL-2.0-or-later
/* The next turn goes to the waiting user who was served longest ago. */
#include "crowd.h"

#include <string.h>

void crowd_init(struct crowd *c)
{
	c->n = 0;
	c->turn = 0;
	memset(c->served, 0, sizeof(c->served));
	for (size_t i = 0; i < CROWD_MAX; i++)
		c->order[i] = (uint16_t)i;
}

/* Knuth's multiplier: adjacent uids get distant numbers. */
static uint8_t user_of(uint32_t uid)
{
	return (uint8_t)((uid * 2654435761u) >> (32 - CROWD_USERS_BITS));
}

bool crowd_put(struct crowd *c, uint32_t uid, const void *request, size_t len)
{
	struct waiting *w;

	if (c->n == CROWD_MAX || len > CROWD_SIZE)
		return false;
	w = &c->slots[c->order[c->n++]];
	w->len = (uint16_t)len;
	w->user = user_of(uid);
	memcpy(w->text, request, len);
	return true;
}

size_t crowd_take(struct crowd *c, void *buf)
{
	const struct waiting *w;
	uint16_t slot;
	size_t best = 0;

	if (!c->n)
		return 0;
	for (size_t i = 1; i < c->n; i++)
		if (c->served[c->slots[c->order[i]].user] <
		    c->served[c->slots[c->order[best]].user])
			best = i;
	slot = c->order[best];
	w = &c->slots[slot];
	c->n--;
	memmove(&c->order[best], &c->order[best + 1], (c->n - best) * sizeof(slot));
	c->order[c->n] = slot;
	c->served[w->user] = ++c->turn;
	memcpy(buf, w->text, w->len);
	return w->len;
}
