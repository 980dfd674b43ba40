// SPDX-License-Identifier: GPL-2.0-or-later
/* Relations: the members of an IOMMU group, the children of a device. */
#include <stdlib.h>

#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "store.h"

uint32_t group_hash(int32_t group)
{
	return (uint32_t)group * 2654435761u;
}

static int by_key(const void *a, const void *b)
{
	const struct device *x = *(const struct device *const *)a,
			    *y = *(const struct device *const *)b;

	return key_cmp(&x->key, &y->key);
}

static int by_index(const void *a, const void *b)
{
	const struct device *x = *(const struct device *const *)a,
			    *y = *(const struct device *const *)b;
	int32_t m = x->facts.index, n = y->facts.index;

	return (m > n) - (m < n) ?: key_cmp(&x->key, &y->key);
}

uint32_t next_in_group(struct model *m, int32_t group, uint32_t i)
{
	if (group < 0)
		return INDEX_NONE;
	do
		i = i == INDEX_NONE ? index_first(&m->by[BY_GROUP], group_hash(group))
				    : index_next(&m->by[BY_GROUP], i);
	while (i != INDEX_NONE && slot_seen(m, i)->facts.iommu_group != group);
	return i;
}

size_t model_group(struct model *m, int32_t group, const struct device **ret, size_t max)
{
	size_t n = 0;

	for (uint32_t i = INDEX_NONE; (i = next_in_group(m, group, i)) != INDEX_NONE;)
		if (n++ < max)
			ret[n - 1] = slot_seen(m, i);
	qsort(ret, n < max ? n : max, sizeof(*ret), by_key);
	return n;
}

size_t model_claim_members(struct model *m, const struct device *dev,
			   const struct device *ret[static CLAIM_MEMBERS], bool *ret_cut)
{
	size_t all = model_group(m, dev->facts.iommu_group, ret, CLAIM_MEMBERS), n = 0;

	if (ret_cut)
		*ret_cut = all > CLAIM_MEMBERS;
	for (size_t i = 0; i < all && i < CLAIM_MEMBERS; i++)
		if (!device_is_bridge(&ret[i]->facts) &&
		    (!ret[i]->facts.behind.bus || dev->facts.behind.bus))
			ret[n++] = ret[i];
	if (!n)
		ret[n++] = dev;
	return n;
}

const struct device *model_parent(struct model *m, const struct device *dev)
{
	return dev->facts.parent.bus ? model_find(m, &dev->facts.parent) : NULL;
}

uint32_t next_child(struct model *m, const struct key *parent, uint32_t i)
{
	do
		i = i == INDEX_NONE ? index_first(&m->by[BY_PARENT], key_hash(parent))
				    : index_next(&m->by[BY_PARENT], i);
	while (i != INDEX_NONE && !key_eq(&slot_seen(m, i)->facts.parent, parent));
	return i;
}

size_t model_children(struct model *m, const struct key *parent, enum bus bus,
		      const struct device **ret, size_t max)
{
	size_t n = 0;

	for (uint32_t i = INDEX_NONE; (i = next_child(m, parent, i)) != INDEX_NONE;) {
		const struct device *d = slot_seen(m, i);

		if ((!bus || d->key.bus == bus) && n++ < max)
			ret[n - 1] = d;
	}
	qsort(ret, n < max ? n : max, sizeof(*ret), by_index);
	return n;
}

const struct device *model_child(struct model *m, const struct key *parent, unsigned int n)
{
	for (uint32_t i = INDEX_NONE; (i = next_child(m, parent, i)) != INDEX_NONE;)
		if (slot_seen(m, i)->facts.index == (int32_t)n)
			return slot_seen(m, i);
	return NULL;
}

/* ---- when people were last at work on a card: a function with all that was made of it */

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
		m->of[i].written = now_ms();
}

uint64_t model_written(struct model *m, const struct device *dev)
{
	uint32_t i = card_of(m, &dev->key);

	return i == INDEX_NONE ? 0 : m->of[i].written;
}
