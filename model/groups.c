// SPDX-License-Identifier: GPL-2.0-or-later
/* Who belongs to whom: the members of an IOMMU group, the VFs of a PF. */
#include <stdlib.h>
#include <string.h>

#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "store.h"

uint32_t group_hash(int32_t group)
{
	return (uint32_t)group * 2654435761u;
}

uint32_t pf_hash(const char *physfn)
{
	struct key key = { .bus = BUS_PCI };

	STR_COPY(key.name, physfn);
	return key_hash(&key);
}

static int by_key(const void *a, const void *b)
{
	const struct device *x = *(const struct device *const *)a,
			    *y = *(const struct device *const *)b;

	return key_cmp(&x->key, &y->key);
}

static int by_vf_index(const void *a, const void *b)
{
	const struct device *x = *(const struct device *const *)a,
			    *y = *(const struct device *const *)b;

	return (x->facts.vf_index > y->facts.vf_index) - (x->facts.vf_index < y->facts.vf_index);
}

uint32_t next_in_group(struct model *m, int32_t group, uint32_t i)
{
	if (group < 0)
		return INDEX_NONE;
	do
		i = i == INDEX_NONE ? index_first(&m->by[BY_GROUP], group_hash(group))
				    : index_next(&m->by[BY_GROUP], i);
	while (i != INDEX_NONE && slot_current(m, i)->facts.iommu_group != group);
	return i;
}

size_t model_group(struct model *m, int32_t group, const struct device **ret, size_t max)
{
	size_t n = 0;

	for (uint32_t i = INDEX_NONE; (i = next_in_group(m, group, i)) != INDEX_NONE;)
		if (n++ < max)
			ret[n - 1] = slot_current(m, i);
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
		if (!device_is_bridge(&ret[i]->facts))
			ret[n++] = ret[i];
	if (!n)
		ret[n++] = dev;
	return n;
}

size_t model_vfs(struct model *m, const struct key *pf, const struct device **ret, size_t max)
{
	size_t n = 0;
	uint32_t i;

	for (i = index_first(&m->by[BY_PF], pf_hash(pf->name)); i != INDEX_NONE;
	     i = index_next(&m->by[BY_PF], i)) {
		const struct device *d = slot_current(m, i);

		if (!strcmp(d->facts.physfn, pf->name) && n++ < max)
			ret[n - 1] = d;
	}
	qsort(ret, n < max ? n : max, sizeof(*ret), by_vf_index);
	return n;
}

const struct device *model_vf(struct model *m, const struct key *pf, unsigned int n)
{
	for (uint32_t i = index_first(&m->by[BY_PF], pf_hash(pf->name)); i != INDEX_NONE;
	     i = index_next(&m->by[BY_PF], i)) {
		const struct device *d = slot_current(m, i);

		if (d->facts.vf_index == (int32_t)n && !strcmp(d->facts.physfn, pf->name))
			return d;
	}
	return NULL;
}
