// SPDX-License-Identifier: GPL-2.0-or-later
/* Settling intents that no longer fit: forget and accept. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "intents.h"
#include "persist.h"
#include "pcidevfs/model.h"

static size_t find_text(const struct records *rs, const char *identity)
{
	char text[IDENTITY_TEXT];

	for (size_t i = 0; i < rs->n; i++)
		if (!strcmp(identity_text(&rs->v[i]->id, text), identity))
			return i;
	return RECORD_NONE;
}

/* Call it with the model locked. */
static bool is_taken(struct intents *in, const char *place)
{
	const struct device *dev;
	char id[KEY_NAME + 8];
	size_t pos = 0;

	while ((dev = model_next(in->m, &pos)))
		if (!strcmp(key_id(&dev->key, id), place))
			return true;
	return false;
}

/* What was last seen at this place, to *ret; RECORD_NONE: nothing is stored of it. -EBUSY:
 * something is there, or several were. Call it with save held. */
static int find_gone(struct intents *in, const char *place, size_t *ret, struct err *err)
{
	char text[IDENTITY_TEXT], other[IDENTITY_TEXT];
	bool taken;
	size_t twin = RECORD_NONE;

	*ret = RECORD_NONE;
	model_lock(in->m);
	taken = is_taken(in, place);
	for (size_t i = 0; i < in->rs.n && *place; i++) {
		const struct record *r = in->rs.v[i];

		if (strcmp(r->at, place) || (!taken && device_of(in, r)))
			continue;
		twin = *ret;
		*ret = i;
	}
	model_unlock(in->m);
	if (*ret != RECORD_NONE && taken)
		return fail(err, EBUSY,
			    "a device is at %s; write none to its claim, or name another one that "
			    "was there by its identity",
			    place);
	if (twin == RECORD_NONE)
		return 0;
	identity_text(&in->rs.v[twin]->id, other);
	return fail(err, EBUSY, "%s was the place of %.80s and of %.80s; name one of them", place,
		    other, identity_text(&in->rs.v[*ret]->id, text));
}

/* Is it applied by an operation, which a write to its file can end? */
static bool is_live(const struct record *r, const struct persist *k)
{
	char value[REQUEST_VALUE];

	if (!k->none || !(r->in & persist_bit(k)) || !persist_has(k, &r->intent))
		return false;
	persist_value(k, r, value);
	return strcmp(value, k->none) != 0;
}

/* The end of an operation writes its results: a settlement meanwhile would be overwritten, or
 * overwrite them. */
static int say_busy(const char *name, struct err *err)
{
	return fail(err, EBUSY, "an operation runs on %s; write again when it has ended", name);
}

/* Call it with the model locked. */
static int refuse_here(const struct intents *in, const struct record *r, struct err *err)
{
	const struct device *dev = device_of(in, r);
	const struct persist *live = NULL;
	const char *name = r->dev.name;

	for (size_t i = 0; persists[i] && dev; i++)
		if (is_live(r, persists[i]))
			live = persists[i];
	if (live)
		return fail(err, EBUSY, "its device %s is here; write %s to its %s", name,
			    live->none, live->file);
	if (r->restoring)
		return fail(err, EBUSY, "its device %s is here, and its intent is being applied",
			    name);
	if (!dev)
		return 0;
	if (r->intent.claim[0] &&
	    device_is_astray(dev)) /* only the record knows the former state */
		return fail(
			err, EBUSY,
			"its device %s is here, and may have been made ready for that claim; write "
			"none to its claim",
			name);
	if (dev->busy[0])
		return say_busy(name, err);
	/* Nothing of an interrupted operation runs any more, and its device says how to end it. */
	return r->interrupted && dev->stuck[0] ? fail(err, EBUSY, "%s", dev->stuck) : 0;
}

static int ask_settler(const struct settler *s, const struct key *dev, bool owned, struct err *err)
{
	return s->may ? s->may(s->ctx, dev, owned, err) : 0;
}

/* Nothing is stored: the process that removed it from the disk may have died before it told the
 * model. Call it with save held. */
static int forget_again(struct intents *in, const char *identity, struct settler *s,
			struct err *err)
{
	struct identity id = { .path = ROOT_PATH, .vf = -1 };
	const struct device *dev;
	char text[IDENTITY_TEXT];
	uint64_t birth = 0;
	size_t pos = 0;
	int rc;

	if (!s->again)
		return fail(err, EINVAL,
			    "nothing is stored for %.200s; intents lists what is "
			    "stored",
			    identity);
	s->root = !strcmp(identity_text(&id, text), identity);
	model_lock(in->m);
	while (!s->dev.bus && (dev = model_next(in->m, &pos))) {
		device_identity(in->m, dev, &id);
		if (!strcmp(identity_text(&id, text), identity)) {
			s->dev = dev->key;
			birth = dev->birth;
		}
	}
	model_unlock(in->m);
	/* Perhaps it was refused then. */
	rc = ask_settler(s, s->dev.bus ? &s->dev : NULL, s->root, err);
	if (rc)
		return rc;
	model_lock(in->m);
	dev = model_find(in->m, &s->dev);
	if (dev && dev->birth == birth && !dev->busy[0])
		record_unnote(model_edit(in->m, &s->dev, false), NULL);
	model_publish(in->m);
	model_unlock(in->m);
	return 0;
}

static int refuse_forget(struct intents *in, const struct record *r, struct settler *s,
			 struct err *err)
{
	bool here;
	int rc;

	model_lock(in->m);
	rc = refuse_here(in, r, err);
	here = device_of(in, r);
	model_unlock(in->m);
	if (here)
		s->dev = r->dev;
	s->root = record_is_root(r);
	return rc ? rc : ask_settler(s, here ? &r->dev : NULL, r->n_owners, err);
}

static int forget_record(struct rewrite *w, size_t at, struct settler *s, struct err *err)
{
	struct intents *in = w->in;
	const struct record was = *in->rs.v[at];
	int rc = refuse_forget(in, &was, s, err);

	if (!rc) {
		rewrite_drop(w, at);
		model_lock(in->m);
		rc = rewrite_release(w, was.group, err);
		model_unlock(in->m);
	}
	rc = rewrite_end(w, rc, err);
	if (rc)
		return rc;
	model_lock(in->m);
	if (device_of(in, &was))
		record_unnote(model_edit(in->m, &was.dev, false), &was.intent);
	model_publish(in->m);
	model_unlock(in->m);
	return 0;
}

static int forget_stored(struct rewrite *w, const char *identity, struct settler *s,
			 struct err *err)
{
	struct intents *in = w->in;
	size_t at = find_text(&in->rs, identity);
	int rc = at == RECORD_NONE ? find_gone(in, identity, &at, err) : 0;

	if (!rc && at != RECORD_NONE)
		return forget_record(w, at, s, err);
	w->optional = !rc; /* it changes nothing */
	return rewrite_end(w, rc ? rc : forget_again(in, identity, s, err), err);
}

int intents_forget(struct intents *in, const char *identity, struct settler *s, struct err *err)
{
	struct settler nobody = { 0 };
	struct rewrite w;
	int rc = intents_await_look(in, err);

	if (rc)
		return rc;
	s = s ? s : &nobody;
	pthread_mutex_lock(&in->save);
	rc = rewrite_begin(&w, in, err);
	if (!rc)
		rc = forget_stored(&w, identity, s, err);
	pthread_mutex_unlock(&in->save);
	intents_kick(in);
	return rc;
}

static void renew(struct record *r)
{
	record_renew(r);
	r->state = RECORD_WAITING;
	r->reason[0] = '\0';
}

/* The former card's record becomes that of the present one. */
static int accept_mismatch(struct rewrite *w, const struct device *dev, size_t at, struct err *err)
{
	struct record *r = rewrite_edit(w, at);
	size_t own = records_of_device(&w->next, dev);

	if (!r)
		return fail_nomem(err);
	if (dev->busy[0])
		return say_busy(dev->key.name, err);
	if (own != RECORD_NONE && own != at)
		return fail(err, EBUSY, "%s has an intent of its own; forget the other one instead",
			    dev->key.name);
	device_identity(w->in->m, dev, &r->id);
	former_set(r->intent.former, FORMER_SERIAL, r->id.serial ? "" : dev->facts.host_serial);
	record_set_at(r, &dev->key);
	r->birth = 0;
	renew(r);
	return 0;
}

/* A claim that somebody else made meanwhile stays. */
static int refuse_member(const struct rewrite *w, const struct device *d, const char *claim,
			 struct err *err)
{
	size_t own = records_of_device(&w->next, d);
	const char *is = own == RECORD_NONE ? "" : w->next.v[own]->intent.claim;

	if (d->busy[0])
		return say_busy(d->key.name, err);
	is = is[0] ? is : d->intent.claim;
	if (!is[0] || !strcmp(is, claim))
		return 0;
	return fail(err, EBUSY,
		    "%s of its IOMMU group is claimed by %s; write none to its claim first",
		    d->key.name, is);
}

/* Adds the other members of the IOMMU group to those that were claimed. */
static int accept_group(struct rewrite *w, const struct device *dev, size_t at, struct err *err)
{
	const struct device *members[CLAIM_MEMBERS];
	size_t n = model_claim_members(w->in->m, dev, members, NULL);
	uint64_t group = claim_group(w->in->m, dev);
	const struct record *lead = w->next.v[at];
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++)
		rc = refuse_member(w, members[i], lead->intent.claim, err);
	for (size_t i = 0; i < n && !rc; i++) {
		size_t own = records_of_device(&w->next, members[i]);
		struct record *r = own == RECORD_NONE ? rewrite_add(w) : rewrite_edit(w, own);

		if (!r)
			return fail_nomem(err);
		device_identity(w->in->m, members[i], &r->id);
		record_set_at(r, &members[i]->key);
		STR_COPY(r->intent.claim, lead->intent.claim);
		r->group = group;
		renew(r);
	}
	return rc;
}

static int accept_device(struct rewrite *w, const struct key *key, const struct settler *s,
			 struct err *err)
{
	const struct device *dev = model_find(w->in->m, key);
	size_t at;

	if (!dev)
		return fail(err, ENODEV, "%s is gone", key->name);
	for (size_t i = 0; i < w->next.n; i++)
		if (w->next.v[i]->state == RECORD_MISMATCH && key_eq(&w->next.v[i]->dev, key))
			return accept_mismatch(w, dev, i, err);
	at = records_of_device(&w->next, dev);
	if (at != RECORD_NONE && w->next.v[at]->state == RECORD_REFUSED &&
	    w->next.v[at]->intent.claim[0])
		return accept_group(w, dev, at, err);
	if (s->again)
		return 0;
	return fail(err, EINVAL, "no stored intent waits for %s to be accepted", key->name);
}

/* ---- who is answered once what a device was accepted for has been tried */

struct accepted {
	struct key dev;
	struct settler by;
	uint64_t looks; /* at that time: no earlier pass has seen it */
	struct accepted *next;
};

static bool accepted_add(struct intents *in, const struct key *dev, const struct settler *by)
{
	struct accepted *a = by->done ? malloc(sizeof(*a)) : NULL;
	bool waits = false;

	if (!a)
		return false;
	*a = (struct accepted){ .dev = *dev, .by = *by, .looks = in->looks };
	pthread_mutex_lock(&in->turn);
	if (in->e && !in->stopped) {
		a->next = in->accepted;
		in->accepted = a;
		waits = true;
	}
	pthread_mutex_unlock(&in->turn);
	if (!waits)
		free(a);
	return waits;
}

/* False: an operation for it runs, or has to wait for another one. */
static bool is_tried(struct intents *in, const struct accepted *a, struct err *ret)
{
	const struct key *key = &a->dev;
	const struct device *dev;
	const struct record *r = NULL;
	bool tried;
	size_t at;

	pthread_mutex_lock(&in->lock);
	model_lock(in->m);
	dev = model_find(in->m, key);
	at = dev ? records_of_device(&in->rs, dev) : RECORD_NONE;
	r = at == RECORD_NONE ? NULL : in->rs.v[at];
	tried = in->looks > a->looks && !(r && (r->restoring || dev->busy[0]));
	if (!dev && tried)
		fail(ret, ENODEV, "%s is gone", key->name);
	else if (tried && r && r->state != RECORD_HELD)
		fail(ret, EBUSY, "%s is accepted, but what is stored for it is not applied: %s",
		     key->name, r->reason);
	model_unlock(in->m);
	pthread_mutex_unlock(&in->lock);
	return tried;
}

void accepted_answer(struct intents *in, bool last)
{
	struct accepted *all, *next;

	pthread_mutex_lock(&in->turn);
	all = in->accepted;
	in->accepted = NULL;
	pthread_mutex_unlock(&in->turn);
	for (; all; all = next) {
		struct err err = { 0 };
		bool tried = is_tried(in, all, &err), waits = !tried && !last;

		next = all->next;
		pthread_mutex_lock(&in->turn);
		waits &= !in->stopped;
		if (waits) {
			all->next = in->accepted;
			in->accepted = all;
		}
		pthread_mutex_unlock(&in->turn);
		if (waits)
			continue;
		if (!tried)
			fail(&err, EBUSY, "%s is accepted, but the daemon ends before its claim",
			     all->dev.name);
		all->by.done(all->by.ctx, &err);
		free(all);
	}
}

int intents_accept(struct intents *in, const struct key *dev, struct settler *s, struct err *err)
{
	struct settler nobody = { 0 };
	struct rewrite w;
	int rc = intents_await_look(in, err);

	if (rc)
		return rc;
	s = s ? s : &nobody;
	pthread_mutex_lock(&in->save);
	rc = rewrite_begin(&w, in, err);
	if (!rc) {
		model_lock(in->m);
		rc = accept_device(&w, dev, s, err);
		model_unlock(in->m);
		rc = rewrite_end(&w, rc ? rc : ask_settler(s, dev, false, err), err);
		s->waits = !rc && accepted_add(in, dev, s);
	}
	pthread_mutex_unlock(&in->save);
	intents_kick(in);
	return rc;
}
