// SPDX-License-Identifier: GPL-2.0-or-later
/* When people were last at work on a card: a function with all that was made of it. */
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "store.h"

#define DEPTH 4 /* a mediated device, its VF, its PF, and one more */

/* INDEX_NONE: it is not here. */
static uint32_t card_of(struct model *m, const struct key *key)
{
	uint32_t i = slot_find(m, key, false), up = i;

	for (int n = 0; n < DEPTH && up != INDEX_NONE; n++) {
		i = up;
		up = slot_find(m, &slot_seen(m, i)->facts.parent, false);
	}
	return i;
}

void model_wrote(struct model *m, const struct key *key)
{
	uint32_t i = card_of(m, key);

	if (i != INDEX_NONE)
		m->written[i] = now_ms();
}

uint64_t model_written(struct model *m, const struct device *dev)
{
	uint32_t i = card_of(m, &dev->key);

	return i == INDEX_NONE ? 0 : m->written[i];
}
