// SPDX-License-Identifier: GPL-2.0-or-later
#include "crowd.h"

#include <string.h>

void crowd_init(struct crowd *c)
{
	c->n = 0;
	c->last = false;
	for (size_t i = 0; i < CROWD_MAX; i++)
		c->order[i] = (uint16_t)i;
}

bool crowd_put(struct crowd *c, bool reserve, const void *request, size_t len)
{
	struct waiting *w;

	if (c->n == CROWD_MAX || len > CROWD_SIZE)
		return false;
	w = &c->slots[c->order[c->n++]];
	w->len = (uint16_t)len;
	w->reserve = reserve;
	memcpy(w->text, request, len);
	return true;
}

size_t crowd_take(struct crowd *c, void *buf)
{
	const struct waiting *w;
	uint16_t slot;
	size_t i = 0;

	if (!c->n)
		return 0;
	while (i < c->n && c->slots[c->order[i]].reserve == c->last)
		i++;
	i = i < c->n ? i : 0;
	slot = c->order[i];
	w = &c->slots[slot];
	c->n--;
	memmove(&c->order[i], &c->order[i + 1], (c->n - i) * sizeof(slot));
	c->order[c->n] = slot;
	c->last = w->reserve;
	memcpy(buf, w->text, w->len);
	return w->len;
}
