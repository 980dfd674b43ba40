// SPDX-License-Identifier: GPL-2.0-or-later
/* Sets what a claim of each device would be refused with, again after each change that may
 * matter. */
#include <string.h>

#include "diff.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "store.h"

static void mark(struct model *m, uint32_t i)
{
	if (m->of[i].to_judge)
		return;
	m->of[i].to_judge = true;
	m->unjudged[m->n_unjudged++] = i;
}

static void mark_group(struct model *m, int32_t group)
{
	for (uint32_t i = INDEX_NONE; (i = next_in_group(m, group, i)) != INDEX_NONE;)
		mark(m, i);
}

static void mark_peers(struct model *m, uint32_t i)
{
	mark(m, i);
	mark_group(m, slot_seen(m, i)->facts.iommu_group);
}

static void mark_children(struct model *m, const struct key *parent)
{
	for (uint32_t i = INDEX_NONE; (i = next_child(m, parent, i)) != INDEX_NONE;)
		mark(m, i);
}

/* A controller cannot be claimed while a device behind it is. */
static void mark_controller(struct model *m, const struct device *dev)
{
	bool hosted = dev->facts.caps & CAP_HOSTED;
	uint32_t i = hosted ? slot_find(m, &dev->facts.parent, false) : INDEX_NONE;

	if (i != INDEX_NONE)
		mark_peers(m, i);
}

void judge_edit(struct model *m, uint32_t i)
{
	const struct device *was = slot_live(m, i) ? slot_current(m, i) : NULL,
			    *is = slot_spare(m, i);
	change_bits bits = was ? device_diff(was, is) : CH_ALL;

	if (!(bits & ~CH_WRITTEN)) /* no rule reads these */
		return;
	mark(m, i);
	if (was && was->facts.iommu_group != is->facts.iommu_group)
		mark_group(m, was->facts.iommu_group);
	mark_children(m, &is->key);
	mark_controller(m, is);
}

void judge_all(struct model *m)
{
	uint32_t used = atomic_load(&m->a->used);

	for (uint32_t i = 0; i < used; i++)
		if (slot_live(m, i))
			mark(m, i);
}

void judge_removal(struct model *m, uint32_t i)
{
	const struct device *dev = slot_current(m, i);

	mark_group(m, dev->facts.iommu_group);
	mark_children(m, &dev->key);
	mark_controller(m, dev);
}

static void judge_one(struct model *m, uint32_t i, const struct obstacle *o)
{
	const struct device *dev = slot_seen(m, i);
	struct err err = { 0 };
	struct device *edit;

	m->rules->say(m, dev, o, &err);
	if (err.code == dev->refused_code && !strcmp(err.text, dev->refused))
		return;
	edit = edit_slot(m, i);
	edit->refused_code = err.code;
	STR_COPY(edit->refused, err.text);
}

static void judge_alone(struct model *m, uint32_t i)
{
	struct obstacle o;

	if (!(slot_seen(m, i)->caps & CAP_CLAIM)) /* it can never be claimed */
		return;
	m->rules->find(m, slot_seen(m, i), &o);
	judge_one(m, i, &o);
}

/* The obstacle is found once for the group; what is behind a member of it has one of its own. */
static void judge_group(struct model *m, int32_t group)
{
	struct obstacle o;
	bool found = false;

	for (uint32_t i = INDEX_NONE; (i = next_in_group(m, group, i)) != INDEX_NONE;) {
		m->of[i].to_judge = false;
		if (!(slot_seen(m, i)->caps & CAP_CLAIM))
			continue;
		if (slot_seen(m, i)->facts.behind.bus) {
			judge_alone(m, i);
			continue;
		}
		if (!found)
			m->rules->find(m, slot_seen(m, i), &o);
		found = true;
		judge_one(m, i, &o);
	}
}

void judge_marked(struct model *m)
{
	for (size_t k = 0; k < m->n_unjudged && m->rules; k++) {
		uint32_t i = m->unjudged[k];
		bool marked = m->of[i].to_judge && slot_there(m, i);

		m->of[i].to_judge = false;
		if (marked && slot_seen(m, i)->facts.iommu_group < 0)
			judge_alone(m, i);
		else if (marked)
			judge_group(m, slot_seen(m, i)->facts.iommu_group);
	}
	if (m->rules)
		m->n_unjudged = 0;
}

void model_judge(struct model *m, const struct claim_rules *rules)
{
	m->rules = rules;
	judge_all(m); /* a former process may have had other rules */
}
