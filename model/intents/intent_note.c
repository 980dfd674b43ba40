// SPDX-License-Identifier: GPL-2.0-or-later
/* What the model gets from the records: at once what needs no operation, and after each pass why
 * the rest is not applied. */
#include <stdlib.h>
#include <string.h>

#include "intents.h"
#include "persist.h"
#include "pcidevfs/model.h"
#include "pcidevfs/resource.h"

/* Does an operation decide about the claim, and not what is stored? One that makes a child leaves
 * its stored claim as it is. Call it with the model locked. */
static bool record_is_decided(const struct intents *in, const struct record *r,
			      const struct device *dev)
{
	return !r->id.child.bus && engine_acts(in->e, dev);
}

/* After a reboot nothing is half done; the model of a former process knows what is. */
static void find_interrupted(const struct intents *in, struct record *r, struct device *dev)
{
	r->interrupted &= (!in->goes_on || dev->stuck[0]) && !strcmp(r->boot, in->boot);
	if (r->interrupted && !dev->stuck[0])
		snprintf(dev->stuck, sizeof(dev->stuck), ENDED_DURING, dev->key.name);
}

/* Call it with the model locked. The model's values, from before a crash, are newer than the file:
 * also that a value has ended, of a device that a former process had noted. */
void record_note(struct intents *in, struct record *r)
{
	struct device *dev = model_edit(in->m, &r->dev, false);
	bool after_crash = in->goes_on && !in->passed, in_hands, ended;

	if (!dev)
		return;
	/* The operation that goes on decides, not the state before it. */
	in_hands = after_crash && record_is_decided(in, r, dev);
	ended = after_crash && dev->intent.noted;
	dev->intent.noted = true;
	r->noted = true;
	r->unbinds = dev->unbinds;
	/* a former process has handled it */
	r->decided = after_crash && !device_is_coming(dev);
	find_interrupted(in, r, dev);
	for (size_t i = 0; persists[i]; i++) {
		const struct persist *k = persists[i];
		bool known = persist_has(k, &dev->intent);

		if (known || !persist_has(k, &r->intent) || in_hands)
			r->in |= persist_bit(k);
		if (k->note)
			k->note(k, r, dev, ended);
		else if (!k->none && !known && !ended)
			persist_copy(k, &dev->intent, &r->intent);
	}
	record_note_owner(r, &dev->intent);
}

void pass_note_vf_claims(struct pass *p)
{
	struct vf_claims {
		uint64_t bits[ARRAY_SIZE(((struct intent *)0)->vf_claims)];
	};
	_free_ struct vf_claims *claims = calloc(p->n ? p->n : 1, sizeof(*claims));
	struct intents *in = p->in;

	for (size_t i = 0; i < in->rs.n && claims; i++) {
		struct identity pf = in->rs.v[i]->id;
		size_t vf = (size_t)pf.vf;
		const struct candidate *s;

		if (!in->rs.v[i]->intent.claim[0] || pf.vf < 0 ||
		    vf >= 64 * ARRAY_SIZE(claims->bits))
			continue;
		pf.vf = -1; /* the functions of a card may share a serial */
		if (pass_lookup(p, &pf, &s) != MATCH_HERE)
			continue;
		claims[s - p->candidates].bits[vf / 64] |= 1ull << vf % 64;
		p->told = true;
	}
	for (size_t i = 0; i < p->n && claims; i++) {
		const struct device *dev = model_find(in->m, &p->candidates[i].key);
		struct device *edit;

		if (!dev || dev->facts.total_vfs < 0 ||
		    !memcmp(claims[i].bits, dev->intent.vf_claims, sizeof(claims->bits)))
			continue;
		edit = model_edit(in->m, &p->candidates[i].key, false);
		if (edit)
			memcpy(edit->intent.vf_claims, claims[i].bits, sizeof(claims->bits));
	}
}

/* Until the first try has ended; for a card that is not known yet, by its place. Call it with the
 * model locked. */
static void pass_intend(const struct pass *p, const struct record *r, const struct device *dev)
{
	bool stored = r && !record_is_decided(p->in, r, dev);
	bool coming = stored && !r->decided && persist_is_missing(&persist_claim, r);
	const char *claim = coming ? r->intent.claim : "";
	int32_t vfs = stored && persist_is_missing(&persist_vfs, r) ? r->intent.num_vfs : 0;
	struct device *edit;

	if ((!r && !device_is_known(dev)) ||
	    (!strcmp(dev->intended, claim) && dev->intended_vfs == vfs))
		return;
	edit = model_edit(p->in->m, &dev->key, false);
	if (!edit)
		return;
	STR_COPY(edit->intended, claim);
	edit->intended_vfs = vfs;
}

void pass_publish(struct pass *p)
{
	struct intents *in = p->in;

	for (size_t i = 0; i < in->rs.n; i++) {
		const struct record *r = in->rs.v[i];
		bool says = r->reason[0] && (r->birth || r->state == RECORD_MISMATCH);
		struct candidate *s = says && !r->restoring ? pass_candidate(p, &r->dev) : NULL;

		if (s)
			s->unmet = r->reason;
	}
	for (size_t i = 0; i < p->n; i++) {
		const struct candidate *s = &p->candidates[i];
		const struct device *dev = model_find(in->m, &s->key);
		const char *text = s->unmet ? s->unmet : "";
		struct device *edit;

		if (!dev)
			continue;
		pass_intend(p, s->record, dev);
		p->told |= text[0] || dev->intended[0] || dev->intended_vfs;
		if (strcmp(dev->unmet, text) && (edit = model_edit(in->m, &s->key, false)))
			STR_COPY(edit->unmet, text);
	}
	in->told = p->told;
}

/* A claim, with what goes with it, as the profile of a vGPU; and what can be put back, whether its
 * release would or not. */
static void note_for_release(struct intents *in, struct record *r)
{
	struct device *dev = model_edit(in->m, &r->dev, false);
	bool claimed = persist_is_missing(&persist_claim, r);

	for (size_t i = 0; persists[i] && dev; i++)
		if (persist_is_missing(persists[i], r) && (claimed || persists[i]->until_release)) {
			persist_copy(persists[i], &dev->intent, &r->intent);
			r->in |= persist_bit(persists[i]);
		}
	if (!claimed || !dev)
		return;
	if (!dev->intent.pinned[0])
		STR_COPY(dev->intent.pinned, dev->names.resource);
	former_fill(dev->intent.former, r->intent.former);
	dev->intent.former_known |= r->intent.former_known;
}

/* As if all that is stored held; of a former process only what it had settled. Call it with save
 * held. */
static void note_all(struct intents *in, bool of_former)
{
	struct pass p = { .in = in, .loose = true };
	uint32_t at = 0;

	pthread_mutex_lock(&in->lock);
	model_lock(in->m);
	if (!pass_find_candidates(&p))
		pass_match(&p);
	for (size_t i = 0; i < in->rs.n; i++) {
		struct record *r = in->rs.v[i];

		if (of_former && !copy_has_settled(in, r, &at))
			r->birth = 0; /* a pass finds out */
		if (!r->birth)
			continue;
		record_note(in, r);
		note_for_release(in, r);
	}
	model_publish(in->m);
	model_unlock(in->m);
	pthread_mutex_unlock(&in->lock);
	pass_free(&p);
}

int intents_note(struct intents *in, struct err *err)
{
	int rc;

	pthread_mutex_lock(&in->save);
	rc = intents_ready(in, err);
	note_all(in, false);
	pthread_mutex_unlock(&in->save);
	return rc;
}

void intents_go_on(struct intents *in)
{
	pthread_mutex_lock(&in->save);
	if (copy_settled(in))
		note_all(in, true);
	pthread_mutex_unlock(&in->save);
}

/* ---- what the model asks for while it is changed */

/* Intents of a device that appears are noted before anybody sees it, so that a claim shows at once.
 * The next pass finds out whether it is the same card, and handles cards that have moved. */

static uint32_t hash_of(const struct identity *id)
{
	return (uint32_t)fnv1a(FNV1A, id->path, strlen(id->path));
}

/* Call it with the model locked. */
static void find_places(struct intents *in)
{
	index_fini(&in->places);
	in->places_known = !index_init(&in->places, (uint32_t)in->rs.n);
	/* The first one is the first to be found. */
	for (uint32_t i = (uint32_t)in->rs.n; i-- > 0 && in->places_known;)
		if (persist_has(&persist_claim, &in->rs.v[i]->intent) ||
		    in->rs.v[i]->intent.vfs_wanted || in->rs.v[i]->types)
			index_link(&in->places, i, hash_of(&in->rs.v[i]->id));
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

	if (!in->places_known)
		find_places(in);
	identity_of(&id, dev, pf);
	for (uint32_t i = index_first(&in->places, hash_of(&id)); i != INDEX_NONE;
	     i = index_next(&in->places, i))
		if (record_may_be_here(in->rs.v[i], pf ? pf : dev, &id))
			note_one(in, in->rs.v[i], dev, &id);
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
