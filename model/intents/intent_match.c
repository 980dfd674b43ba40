// SPDX-License-Identifier: GPL-2.0-or-later
/* Matches records with devices, and notes in the model what needs no operation. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "intents.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"

#define FALL_MS 5000

size_t records_of_device(const struct records *rs, const struct device *dev)
{
	for (size_t i = 0; i < rs->n; i++) {
		const struct record *r = rs->v[i];

		if (r && r->birth == dev->birth && key_eq(&r->dev, &dev->key))
			return i;
	}
	return RECORD_NONE;
}

static size_t records_of_identity(const struct records *rs, const struct identity *id)
{
	for (size_t i = 0; i < rs->n; i++)
		if (rs->v[i] && identity_eq(&rs->v[i]->id, id))
			return i;
	return RECORD_NONE;
}

bool request_identity(struct model *m, const struct request *about, struct identity *ret)
{
	const struct key *parent = request_parent(about);
	const struct device *dev = model_find(m, parent ? parent : &about->dev);

	if (!dev)
		return false;
	device_identity(m, dev, ret);
	if (about->child)
		ret->vf = about->child - 1;
	else if (parent)
		ret->child = about->dev;
	return true;
}

uint64_t claim_group(struct model *m, const struct device *dev)
{
	const struct device *members[CLAIM_MEMBERS];
	size_t n = model_claim_members(m, dev, members, NULL);
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		struct identity id;

		device_identity(m, members[i], &id);
		sum += identity_hash(&id); /* the order does not matter */
	}
	return sum ? sum : 1;
}

static uint32_t child_hash(const struct identity *id)
{
	return id->child.bus ? key_hash(&id->child) : 0;
}

static uint32_t place_hash(const struct identity *id)
{
	return (uint32_t)fnv1a(FNV1A, id->path, strlen(id->path)) + (uint32_t)id->vf +
	       child_hash(id);
}

static uint32_t card_hash(const struct identity *id)
{
	const uint64_t card[] = { id->serial, id->ids, (uint64_t)id->vf, child_hash(id) };

	return (uint32_t)fnv1a(FNV1A, (const char *)card, sizeof(card));
}

/* How many cards with this serial are here; *ret_falls: they may be one USB device that falls. */
static size_t count_cards(const struct pass *p, const struct record *r, bool *ret_falls)
{
	struct identity card = r->id;
	const struct identity *first = NULL;
	size_t n = 0;

	card.vf = -1; /* VFs and children go by their card */
	card.child = (struct key){ 0 };
	*ret_falls = false;
	for (uint32_t i = index_first(&p->by_card, card_hash(&card)); i != INDEX_NONE;
	     i = index_next(&p->by_card, i)) {
		const struct identity *id = &p->candidates[i].id;

		if (!identity_same_card(id, &card))
			continue;
		*ret_falls = n == 1 && identity_may_fall(first, id);
		first = id;
		n++;
	}
	return n;
}

bool pass_is_cloned(const struct pass *p, const struct record *r)
{
	bool falls;

	return r->id.cloned || (r->id.serial && count_cards(p, r, &falls) > 1);
}

/* Two on the two hubs of a controller, of which one is soon gone, were one. */
static void judge_clone(struct pass *p, struct record *r)
{
	bool falls = false, soon = r->falls_ms && now_ms() - r->falls_ms < FALL_MS;
	size_t n;

	if (!r->id.serial || (r->id.cloned && !soon))
		return;
	n = count_cards(p, r, &falls);
	if (n > 1) {
		if (!falls)
			r->falls_ms = 0;
		else if (!r->id.cloned)
			r->falls_ms = now_ms();
		p->rewrite |= !r->id.cloned;
	} else if (r->id.cloned) {
		r->id.cloned = false;
		p->rewrite = true;
	}
}

static void look_at(const struct pass *p, const struct index *by, uint32_t hash, struct search *f)
{
	for (uint32_t i = index_first(by, hash); i != INDEX_NONE; i = index_next(by, i))
		search_look(f, &p->candidates[i]);
}

enum match pass_lookup(const struct pass *p, const struct identity *wanted,
		       const struct candidate **ret)
{
	struct search f = { .wanted = wanted };

	look_at(p, &p->by_place, place_hash(wanted), &f);
	/* Without a serial only the place counts; most devices of a kind share that card. */
	if (wanted->serial)
		look_at(p, &p->by_card, card_hash(wanted), &f);
	return search_end(&f, ret);
}

/* Call it with the model locked. */
int pass_find_candidates(struct pass *p)
{
	struct model *m = p->in->m;
	const struct device *dev;
	uint32_t cap = (uint32_t)model_count(m);
	size_t pos = 0;

	p->candidates = calloc(cap ? cap : 1, sizeof(*p->candidates));
	if (!p->candidates || index_init(&p->by_key, cap) || index_init(&p->by_place, cap) ||
	    index_init(&p->by_card, cap))
		return -ENOMEM;
	while ((dev = model_next(m, &pos)) && p->n < cap) {
		struct candidate *s = &p->candidates[p->n];

		device_identity(m, dev, &s->id);
		s->key = dev->key;
		s->birth = dev->birth;
		s->serial_unknown = !device_is_known(dev);
		p->n_unknown += s->serial_unknown;
		index_link(&p->by_key, p->n, key_hash(&s->key));
		index_link(&p->by_place, p->n, place_hash(&s->id));
		index_link(&p->by_card, p->n, card_hash(&s->id));
		p->n++;
	}
	return 0;
}

struct candidate *pass_candidate(const struct pass *p, const struct key *key)
{
	uint32_t i = index_first(&p->by_key, key_hash(key));

	while (i != INDEX_NONE && !key_eq(&p->candidates[i].key, key))
		i = index_next(&p->by_key, i);
	return i == INDEX_NONE ? NULL : &p->candidates[i];
}

struct record *pass_record(const struct pass *p, const struct key *dev)
{
	const struct candidate *s = pass_candidate(p, dev);

	return s ? s->record : NULL;
}

bool pass_is_busy(const struct pass *p, const struct device *dev)
{
	const struct record *r = pass_record(p, &dev->key);

	return dev->busy[0] || (r && r->restoring);
}

bool pass_parent_busy(const struct pass *p, const struct device *dev)
{
	const struct device *parent = model_parent(p->in->m, dev);

	return parent && pass_is_busy(p, parent);
}

static void note_candidate(struct pass *p, struct record *r)
{
	struct candidate *s = r->birth ? pass_candidate(p, &r->dev) : NULL;

	if (s && s->birth == r->birth)
		s->record = r;
}

const struct device *device_of(const struct intents *in, const struct record *r)
{
	const struct device *dev = r->birth ? model_find(in->m, &r->dev) : NULL;

	return dev && dev->birth == r->birth ? dev : NULL;
}

/* Builds the table of candidates at most once per change: it holds the model lock. */
static int look_once(struct rewrite *w, struct err *err)
{
	if (w->look.in)
		return 0;
	w->look.in = w->in;
	return pass_find_candidates(&w->look) ? fail_nomem(err) : 0;
}

/* Cards are followed by their serial; a device whose serial is unknown may be any of its kind. */
static bool may_be(const struct record *r, const struct device *dev, const struct identity *id)
{
	return r && r->id.serial && !r->id.cloned && r->id.ids == id->ids &&
	       identity_same_part(&r->id, id) &&
	       (r->id.serial == id->serial || !device_is_known(dev));
}

/* The record of a new card that no pass has matched yet: a second one would be for the same card.
 * RECORD_NONE: nothing is stored for it. -EBUSY: the card is not identified yet. -ENOMEM. */
static int find_moved(struct rewrite *w, const struct device *dev, const struct identity *id,
		      size_t *ret_at, struct err *err)
{
	int rc = 0;

	*ret_at = RECORD_NONE;
	for (size_t i = 0; i < w->next.n && !rc && *ret_at == RECORD_NONE; i++) {
		const struct record *r = w->next.v[i];
		const struct candidate *s;

		if (!may_be(r, dev, id) || device_of(w->in, r))
			continue;
		if (!device_is_known(dev))
			return fail(
				err, EBUSY,
				"%s has just appeared, and its card is not identified yet; write "
				"again",
				dev->key.name);
		rc = look_once(w, err);
		if (!rc && pass_lookup(&w->look, &r->id, &s) == MATCH_HERE &&
		    key_eq(&s->key, &dev->key))
			*ret_at = i;
	}
	return rc;
}

/* Is the PF's stored number of VFs still to be restored, or being restored? */
static bool vfs_are_coming(const struct pass *p, const struct key *pf)
{
	const struct device *dev = model_find(p->in->m, pf);
	const struct record *r;
	size_t at;

	if (!dev || !dev->intended_vfs)
		return false;
	at = records_of_device(&p->in->rs, dev);
	if (at == RECORD_NONE)
		return true;
	r = p->in->rs.v[at];
	return r->restoring || r->state == RECORD_WAITING;
}

/* The card of an absent VF is here. enabled of a GPU keeps the vGPUs that it ends. */
static bool say_no_vf(const struct pass *p, struct record *r)
{
	struct identity pf = r->id;
	const struct candidate *s;

	pf.vf = -1;
	if (r->id.vf < 0 || pass_lookup(p, &pf, &s) != MATCH_HERE)
		return false;
	if (vfs_are_coming(p, &s->key))
		snprintf(r->reason, sizeof(r->reason),
			 "its VF is not there yet; the VFs of %s are being restored", s->key.name);
	else if (r->intent.profile[0])
		snprintf(r->reason, sizeof(r->reason),
			 "its VF is not there; write 1 to enabled of %s", s->key.name);
	else
		return false;
	return true;
}

static void find_device(struct pass *p, struct record *r)
{
	struct intents *in = p->in;
	const struct candidate *s;
	enum match match;
	bool unread;

	r->card_here = r->as_well = false;
	if (r->aside || device_of(in, r))
		return;
	if (record_is_root(r)) {
		r->state = RECORD_HELD;
		return;
	}
	if (r->birth)
		record_leave(r);
	match = pass_lookup(p, &r->id, &s);
	if (match == MATCH_NONE && p->loose) {
		struct identity loose = r->id;

		loose.serial = 0;
		match = pass_lookup(p, &loose, &s);
	}
	if (match == MATCH_NONE && r->id.child.bus && (r->restoring || r->decided))
		return; /* keep the result of making it */
	if (match == MATCH_MISMATCH) {
		r->state = RECORD_MISMATCH;
		r->dev = s->key;
		return;
	}
	r->state = RECORD_WAITING;
	unread = match == MATCH_NONE && r->id.serial && !r->id.cloned && p->n_unknown;
	STR_COPY(r->reason,
		 unread ? "it is not known yet whether its device is there: not all serial numbers "
			  "have been read"
		 : r->id.cloned ? "its device is not there; another had the same serial number, so "
				  "only its own place counts"
				: "its device is not there");
	p->incomplete |= unread;
	r->card_here = match == MATCH_NONE && say_no_vf(p, r);
	if (match == MATCH_NONE)
		return;
	r->reason[0] = '\0';
	r->dev = s->key;
	r->birth = s->birth;
	p->rewrite |= record_at_other(r, &r->dev);
}

void pass_match(struct pass *p)
{
	struct records *rs = &p->in->rs;

	for (size_t i = 0; i < rs->n; i++) {
		judge_clone(p, rs->v[i]);
		find_device(p, rs->v[i]);
		note_candidate(p, rs->v[i]);
	}
}

/* Also finds a record that no pass has matched yet. */
size_t rewrite_at(const struct rewrite *w, const struct device *dev)
{
	size_t at = records_of_device(&w->next, dev);
	struct identity id;

	if (at != RECORD_NONE)
		return at;
	device_identity(w->in->m, dev, &id);
	return records_of_identity(&w->next, &id);
}

int rewrite_record(struct rewrite *w, const struct device *dev, struct record **ret,
		   struct err *err)
{
	size_t at = rewrite_at(w, dev);
	struct identity id;
	struct record *r;
	int rc = 0;

	device_identity(w->in->m, dev, &id);
	if (at == RECORD_NONE)
		rc = find_moved(w, dev, &id, &at, err);
	if (rc)
		return rc;
	r = at == RECORD_NONE ? rewrite_add(w) : rewrite_edit(w, at);
	if (!r)
		return fail_nomem(err);
	if (at == RECORD_NONE) { /* there is nothing to restore */
		r->noted = true;
		r->in = UINT32_MAX;
	}
	if (id.vf != IDENTITY_HALF || !r->id.path[0])
		identity_complete(&r->id, &id);
	record_attach(r, dev);
	*ret = r;
	return 0;
}
