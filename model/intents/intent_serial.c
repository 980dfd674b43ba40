// SPDX-License-Identifier: GPL-2.0-or-later
/* Cards of one model without a serial number in their config space, told apart by the one that a
 * driver of the host read: the claimed one's before its claim, the others' now. Of a card that no
 * such driver has had since it appeared it is unknown. */
#include <stdio.h>
#include <string.h>

#include "intents.h"
#include "persist.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"

/* Drivers come within seconds of each other. */
#define TELL_MS 20000

bool record_host_serial(const struct record *r, char ret[static FORMER_TEXT])
{
	return !r->id.serial && !r->id.cloned && r->id.vf < 0 && r->intent.claim[0] &&
	       former_get(r->intent.former, FORMER_SERIAL, ret, FORMER_TEXT) && ret[0];
}

/* Has it no driver of the host yet, or one that has not told it yet? */
static bool may_tell(const struct pass *p, const struct device *dev)
{
	const struct record *r = pass_record(p, &dev->key);

	return !dev->facts.host_serial[0] && dev->facts.use != USE_GUEST &&
	       !(r && r->intent.claim[0]);
}

/* Another card of the record's model that has this serial number; NULL: that may tell one yet. Of
 * several the first by key, whatever the order of candidates, for a sentence names it. */
static const struct device *find_equal(const struct pass *p, const struct record *r,
				       const char *serial)
{
	const struct device *first = NULL;

	for (size_t i = 0; i < p->n; i++) {
		const struct candidate *s = &p->candidates[i];
		const struct device *dev;

		if (s->id.ids != r->id.ids || s->id.vf >= 0 || key_eq(&s->key, &r->dev) ||
		    (first && key_cmp(&s->key, &first->key) > 0))
			continue;
		dev = model_find(p->in->m, &s->key);
		if (dev && (serial ? !strcmp(dev->facts.host_serial, serial) : may_tell(p, dev)))
			first = dev;
	}
	return first;
}

/* The present claim stays, and so does the card in use. */
static bool is_taken(const struct record *r, const struct device *dev)
{
	return dev->intent.claim[0] || (r->restoring && r->lifted != dev->birth) ||
	       (dev->facts.use == USE_GUEST && dev->facts.holder[0]);
}

static void turn_away(struct pass *p, struct record *r, const struct device *dev)
{
	struct device *edit = r->noted ? model_edit(p->in->m, &r->dev, false) : NULL;
	struct candidate *s = pass_candidate(p, &dev->key);

	if (edit)
		record_unnote(edit, &r->intent);
	if (s)
		s->record = NULL;
	record_leave(r);
	r->state = RECORD_MISMATCH;
	r->other_serial = true;
}

void pass_judge_serials(struct pass *p)
{
	struct records *rs = &p->in->rs;
	char serial[FORMER_TEXT];

	for (size_t i = 0; i < rs->n; i++) {
		struct record *r = rs->v[i];
		const struct device *dev = device_of(p->in, r), *other;

		r->other_serial = false;
		r->elsewhere = (struct key){ 0 };
		if (!dev || p->loose || !record_host_serial(r, serial))
			continue;
		other = find_equal(p, r, serial);
		if (!strcmp(dev->facts.host_serial, serial)) {
			r->shares_serial = other;
			p->rewrite |= r->shares_serial;
			continue;
		}
		if (other)
			r->elsewhere = other->key;
		if ((other || dev->facts.host_serial[0]) && !is_taken(r, dev))
			turn_away(p, r, dev);
	}
}

bool record_awaits_serial(struct pass *p, struct record *r, const struct device *dev)
{
	const struct device *other;
	char serial[FORMER_TEXT];

	if (!record_host_serial(r, serial) || dev->facts.host_serial[0] || is_taken(r, dev))
		return false;
	other = find_equal(p, r, NULL);
	r->asked_ms = !other ? 0 : r->asked_ms ? r->asked_ms : now_ms();
	if (!other || now_ms() - r->asked_ms >= TELL_MS)
		return false;
	p->asks |= ASK_DUE;
	p->incomplete = true;
	snprintf(r->reason, sizeof(r->reason),
		 "the claimed card has serial number %.44s, and so may %.48s, which no driver of "
		 "the host has read yet",
		 serial, other->key.name);
	r->state = RECORD_WAITING;
	return true;
}

/* An operation on a member of its group is in the way, and its end makes a pass. */
static bool is_busy(const struct pass *p, const struct device *dev)
{
	const struct device *members[CLAIM_MEMBERS];
	size_t n = model_claim_members(p->in->m, dev, members, NULL);
	bool busy = false;

	for (size_t i = 0; i < n && !busy; i++)
		busy = pass_is_busy(p, members[i]) || pass_parent_busy(p, members[i]);
	return busy;
}

/* --early knows no serial numbers. */
static void lift(struct pass *p, struct record *r)
{
	const struct device *dev = model_find(p->in->m, &r->dev);
	struct device *edit;

	if (!dev || dev->birth == r->lifted || is_busy(p, dev) || dev->intent.claim[0] ||
	    !(edit = model_edit(p->in->m, &r->dev, false)))
		return;
	if (!edit->intent.former_known) {
		STR_COPY(edit->intent.former, r->intent.former);
		edit->intent.former_known = true;
	}
	r->restoring = job_add(p, r, persist_find("claim"), &r->dev);
	if (!r->restoring)
		return;
	r->restoring->request.value[0] = '\0';
	r->lifted = edit->birth;
}

void pass_lift(struct pass *p)
{
	for (size_t i = 0; i < p->in->rs.n; i++)
		if (p->in->rs.v[i]->other_serial && !p->in->rs.v[i]->restoring)
			lift(p, p->in->rs.v[i]);
}

/* ---- what is said of another device in the place that a record knows */

#define MODEL_TEXT 24

/* "8086:1521", and the board's ids where only those differ. */
static void model_name(const struct identity *id, const struct identity *other,
		       char ret[static MODEL_TEXT])
{
	char ids[IDENTITY_IDS];

	identity_ids(id, ids);
	snprintf(ret, MODEL_TEXT, "%.9s", ids);
	if (id->ids >> 32 == other->ids >> 32)
		snprintf(ret + 9, MODEL_TEXT - 9, " %s", ids + 10);
}

/* What differs: "usb/2-2 is 18d1:9302, not 1a6e:089a". */
static void tell_apart(const struct candidate *s, const struct identity *stored, char *ret,
		       size_t size)
{
	char name[KEY_NAME + 8], is[MODEL_TEXT], was[MODEL_TEXT];

	key_id(&s->key, name);
	model_name(&s->id, stored, is);
	model_name(stored, &s->id, was);
	if (s->id.ids != stored->ids)
		snprintf(ret, size, "%s is %s, not %s", name, is, was);
	else
		snprintf(ret, size, "%s, same model, %s serial number", name,
			 !s->id.serial	  ? "no"
			 : stored->serial ? "another"
					  : "with a");
}

/* The card has the ids of the record, and another serial number for the host's driver. */
static void say_other(const struct pass *p, const struct record *r, char *ret, size_t size)
{
	const struct device *dev = model_find(p->in->m, &r->dev);
	const char *is = dev && dev->facts.host_serial[0] ? dev->facts.host_serial : "unknown";
	char serial[FORMER_TEXT];

	record_host_serial(r, serial);
	if (r->elsewhere.bus)
		snprintf(
			ret, size,
			"another card is in this place (%s, same model, serial number %s); the claimed "
			"one, %s, is %s now: claim that and forget this intent, or accept %s in ctl",
			r->dev.name, is, serial, r->elsewhere.name, r->dev.name);
	else
		snprintf(
			ret, size,
			"another card is in this place (%s, same model, serial number %s, not %s); "
			"accept %s in ctl if it replaces that one",
			r->dev.name, is, serial, r->dev.name);
}

static bool is_one_claim(const struct record *a, const struct record *b)
{
	return a->intent.claim[0] && !strcmp(a->intent.claim, b->intent.claim);
}

static void say(const struct pass *p, struct record *r)
{
	const struct candidate *s = pass_candidate(p, &r->dev);
	const struct record *own = s ? s->record : NULL;
	char name[KEY_NAME + 8], differs[160], text[ERR_TEXT];
	const char *claim = r->intent.claim;

	if (!s)
		return;
	key_id(&r->dev, name);
	tell_apart(s, &r->id, differs, sizeof(differs));
	r->as_well = own && is_one_claim(own, r);
	if (r->as_well) {
		snprintf(text, sizeof(text), "%s; %.60s has claimed that as well", differs, claim);
		record_say(r, RECORD_WAITING, text);
		return;
	}
	if (r->other_serial)
		say_other(p, r, text, sizeof(text));
	else if (own)
		snprintf(text, sizeof(text),
			 "another device is in this place (%s) and has its own intents; forget the "
			 "former one in ctl if it does not come back",
			 differs);
	else if (claim[0] && s->id.ids != r->id.ids)
		snprintf(text, sizeof(text),
			 "another device is in this place (%s); accept %s in ctl if it replaces "
			 "that one, or claim it for %.24s too if that one changes its ids",
			 differs, name, claim);
	else
		snprintf(text, sizeof(text),
			 "another card is in this place (%s); accept %s in ctl if it replaces that "
			 "one",
			 differs, name);
	record_say(r, RECORD_MISMATCH, text);
}

void pass_say_mismatches(const struct pass *p)
{
	const struct records *rs = &p->in->rs;

	for (size_t i = 0; i < rs->n; i++)
		if (rs->v[i]->state == RECORD_MISMATCH)
			say(p, rs->v[i]);
}
