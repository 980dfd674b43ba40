// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is stored for a device that comes, before anybody sees it. A claim reads so at once; that it is this very card,
 * and not another one in its place, the next pass finds out. One that has moved is left to that pass.
 */
#include <stdlib.h>
#include <string.h>

#include "intents.h"
#include "kept.h"
#include "pcidevfs/model.h"

/* A claim that is stored, by where its device sits. */
struct place {
	uint64_t mark;
	const struct record *r;
};

static uint64_t mark_of(const struct identity *id)
{
	return fnv1a(FNV1A, id->path, strlen(id->path));
}

static int by_mark(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	return (a->mark > b->mark) - (a->mark < b->mark);
}

/* With the model locked. */
static void find_places(struct intents *in)
{
	in->n_places = 0;
	free(in->places);
	in->places = calloc(in->rs.n ? in->rs.n : 1, sizeof(*in->places));
	in->places_known = in->places;
	for (size_t i = 0; i < in->rs.n && in->places; i++)
		if (kept_has(&kept_claim, &in->rs.v[i]->want))
			in->places[in->n_places++] =
				(struct place){ mark_of(&in->rs.v[i]->id), in->rs.v[i] };
	if (in->n_places)
		qsort(in->places, in->n_places, sizeof(*in->places), by_mark);
}

static size_t first_place(const struct intents *in, uint64_t mark)
{
	size_t from = 0, to = in->n_places;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (in->places[mid].mark < mark)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

bool record_may_be_here(const struct record *r, const struct device *card, const struct identity *id)
{
	return r->id.ids == id->ids && !strcmp(r->id.path, id->path) &&
	       (r->id.serial == id->serial || !device_is_known(card));
}

static void note_one(const struct intents *in, const struct record *r, struct device *dev,
		     const struct identity *id)
{
	int32_t vf = r->id.vf;

	if (vf == id->vf && !cut_is_ours(in, r))
		STR_COPY(dev->intended, r->want.claim);
	if (vf >= 0 && vf < WANT_VFS && id->vf == -1 && dev->facts.total_vfs >= 0)
		dev->want.vf_claims[vf / 64] |= UINT64_C(1) << vf % 64;
}

void intents_arrive(void *ctx, struct device *dev, const struct device *pf)
{
	struct intents *in = ctx;
	struct identity id;
	uint64_t mark;

	if (!in->places_known)
		find_places(in);
	identity_of(&id, dev, pf);
	mark = mark_of(&id);
	for (size_t i = first_place(in, mark); i < in->n_places && in->places[i].mark == mark; i++)
		if (record_may_be_here(in->places[i].r, pf ? pf : dev, &id))
			note_one(in, in->places[i].r, dev, &id);
}

