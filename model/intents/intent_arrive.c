// SPDX-License-Identifier: GPL-2.0-or-later
/* What the model asks for while it is changed. Notes intents of a device that appears, before
 * anybody sees it, so that a claim shows at once. The next pass finds out whether it is the same
 * card, and handles cards that have moved. */
#include <stdlib.h>
#include <string.h>

#include "intents.h"
#include "persist.h"
#include "pcidevfs/model.h"
#include "pcidevfs/resource.h"

static uint64_t mark_of(const struct identity *id)
{
	return fnv1a(FNV1A, id->path, strlen(id->path));
}

/* Call it with the model locked. */
static void find_places(struct intents *in)
{
	in->n_places = 0;
	free(in->places);
	in->places = calloc(in->rs.n ? in->rs.n : 1, sizeof(*in->places));
	in->places_known = in->places;
	for (size_t i = 0; i < in->rs.n && in->places; i++)
		if (persist_has(&persist_claim, &in->rs.v[i]->intent) ||
		    in->rs.v[i]->intent.vfs_wanted || in->rs.v[i]->types)
			in->places[in->n_places++] = (struct mark){ mark_of(&in->rs.v[i]->id), i };
	marks_sort(in->places, in->n_places);
}

bool record_may_be_here(const struct record *r, const struct device *card,
			const struct identity *id)
{
	return r->id.ids == id->ids && !strcmp(r->id.path, id->path) &&
	       (r->id.serial == id->serial || !device_is_known(card));
}

/* What the kernel tells now comes last, and is newer. */
static void add_types(struct model *m, const char *types, struct device *dev)
{
	struct out o = { 0 };

	out_printf(&o, "%s\n", types);
	model_text(m, &dev->facts.profiles, &o);
	if (!o.failed)
		model_set_text(m, &dev->facts.profiles, out_text(&o), o.len);
	out_free(&o);
}

static void note_one(const struct intents *in, const struct record *r, struct device *dev,
		     const struct identity *id)
{
	int32_t vf = r->id.vf;

	if (!key_eq(&r->id.child, &id->child))
		return;
	if (vf == id->vf && r->types)
		add_types(in->m, r->types, dev);
	if (vf == id->vf && !record_is_decided(in, r, dev)) {
		STR_COPY(dev->intended, r->intent.claim);
		dev->intended_vfs = r->intent.num_vfs;
	}
	if (r->intent.claim[0] && vf >= 0 && vf < INTENT_VFS && id->vf == -1 &&
	    dev->facts.total_vfs >= 0)
		dev->intent.vf_claims[vf / 64] |= UINT64_C(1) << vf % 64;
}

static void arrives(void *ctx, struct device *dev, const struct device *pf)
{
	struct intents *in = ctx;
	struct identity id;
	uint64_t mark;

	if (!in->places_known)
		find_places(in);
	identity_of(&id, dev, pf);
	mark = mark_of(&id);
	for (size_t i = marks_first(in->places, in->n_places, mark);
	     i < in->n_places && in->places[i].value == mark; i++) {
		const struct record *r = in->rs.v[in->places[i].at];

		if (record_may_be_here(r, pf ? pf : dev, &id))
			note_one(in, r, dev, &id);
	}
}

/* ---- resource names, also of devices that are away: nobody else gets them */

/* Also before a pass has matched the record with its device. */
static bool is_of(const struct intents *in, const struct record *r, const struct device *dev)
{
	struct identity id;

	if (r->birth)
		return r->birth == dev->birth && key_eq(&r->dev, &dev->key);
	device_identity(in->m, dev, &id);
	return identity_eq(&r->id, &id) ||
	       (id.serial && !r->id.cloned && identity_same_card(&r->id, &id) &&
		identity_same_part(&r->id, &id));
}

static const char *own(void *ctx, const struct device *dev)
{
	const struct intents *in = ctx;

	for (size_t i = 0; i < in->rs.n; i++) {
		const struct record *r = in->rs.v[i];

		if (r->intent.single && r->intent.own[0] && is_of(in, r, dev))
			return r->intent.own;
	}
	return NULL;
}

static const char *find(void *ctx, const struct device *but, resource_match *match,
			const char *name)
{
	const struct intents *in = ctx;

	for (size_t i = 0; i < in->rs.n; i++) {
		const struct record *r = in->rs.v[i];

		if (match(&r->intent, name) && !is_of(in, r, but))
			return r->at;
	}
	return NULL;
}

void intents_tell_model(struct intents *in)
{
	const struct stored stored = { arrives, own, find, in };

	model_on_stored(in->m, &stored);
}
