// SPDX-License-Identifier: GPL-2.0-or-later
/* The health of the stored intents, and settling those that no longer fit. */
#include <errno.h>
#include <string.h>

#include "intents.h"
#include "persist.h"
#include "pcidevfs/model.h"

/* Prints milliseconds with one decimal. */
static void print_ms(struct out *o, const char *key, unsigned int us)
{
	out_printf(o, " %s=%u.%u", key, us / 1000, us / 100 % 10);
}

/* Call it with lock held. */
static const char *state_word(const struct intents *in, const char **ret_hint)
{
	*ret_hint = in->broken.text;
	if (in->broken.code)
		return "broken";
	*ret_hint = in->refused.text;
	if (in->refused.code)
		return "refused";
	*ret_hint = in->gone ? "the directory is gone, so that claims are not stored and a reboot "
			       "loses them; the next write, or pcidevfsd --replace, makes it anew "
			       "and stores everything there"
			     : "another directory has taken the place of the state directory; the "
			       "next write stores everything there";
	if (in->moved)
		return "moved";
	*ret_hint =
		"this directory and its intents are lost at a reboot; give --state a directory on "
		"a disk";
	if (in->is_volatile)
		return "volatile";
	*ret_hint = NULL;
	return "ok";
}

const char *intents_state(struct intents *in)
{
	const char *word, *hint;

	pthread_mutex_lock(&in->lock);
	word = state_word(in, &hint);
	pthread_mutex_unlock(&in->lock);
	return word;
}

#define DAMAGE_TEXT 600

/* False: no damage. A file that was set aside is reported until it is removed, a line until it is
 * forgotten. Call it with lock held. */
static bool say_damage(const struct intents *in, char *ret, size_t size)
{
	const struct record *first = NULL;
	char id[IDENTITY_TEXT];
	size_t n = 0;

	for (size_t i = in->rs.n; i-- > 0;)
		if (in->rs.v[i]->aside) {
			first = in->rs.v[i];
			n++;
		}
	ret[0] = '\0';
	if (in->damaged[0])
		str_copy(ret, size, in->damaged);
	else if (n)
		snprintf(
			ret, size,
			"%.300s: %s%s; intents shows it; make its request again, then write "
			"\"forget %s\" to ctl",
			INTENT_FILE, first->reason, n > 1 ? ", and others" : "",
			identity_text(&first->id, id));
	return ret[0];
}

void intents_health(struct intents *in, struct out *o)
{
	char damage[DAMAGE_TEXT];
	const char *hint;

	intents_look(in);
	pthread_mutex_lock(&in->lock);
	out_printf(o, "state=%s", state_word(in, &hint));
	out_pair(o, "path", in->dir);
	out_printf(o, " records=%zu", in->rs.n);
	print_ms(o, "fsync_ms", in->sync_us);
	print_ms(o, "fsync_max_ms", in->sync_max_us);
	if (hint)
		out_pair(o, "hint", hint);
	out_put(o, "\n", 1);
	if (say_damage(in, damage, sizeof(damage))) {
		out_printf(o, "intents=damaged");
		out_pair(o, "hint", damage);
		out_put(o, "\n", 1);
	}
	pthread_mutex_unlock(&in->lock);
}

bool intents_unusable(struct intents *in, char *ret, size_t size)
{
	const struct err *why;
	bool any;

	pthread_mutex_lock(&in->lock);
	why = in->broken.code ? &in->broken : &in->refused;
	any = why->code;
	if (any)
		str_copy(ret, size, why->text);
	pthread_mutex_unlock(&in->lock);
	return any;
}

bool intents_damaged(struct intents *in, char *ret, size_t size)
{
	bool any;

	pthread_mutex_lock(&in->lock);
	any = say_damage(in, ret, size);
	pthread_mutex_unlock(&in->lock);
	return any;
}

/* ---- forget and accept */

static size_t find_text(const struct records *rs, const char *identity)
{
	char text[IDENTITY_TEXT];

	for (size_t i = 0; i < rs->n; i++)
		if (!strcmp(identity_text(&rs->v[i]->id, text), identity))
			return i;
	return RECORD_NONE;
}

/* Is it applied by an operation, which a write to its file can end? */
static bool is_live(const struct record *r, const struct persist *k)
{
	char value[REQUEST_VALUE];

	if (!k->value || !(r->in & persist_bit(k)) || !persist_has(k, &r->intent))
		return false;
	k->value(r, value);
	return strcmp(value, k->none) != 0;
}

static int refuse_live(const struct record *r, struct err *err)
{
	const struct persist *live = NULL;

	for (size_t i = 0; persists[i] && r->birth; i++)
		if (is_live(r, persists[i]))
			live = persists[i];
	if (live)
		return fail(err, EBUSY, "its device %s is here; write %s to its %s", r->dev.name,
			    live->none, live->file);
	if (r->restoring)
		return fail(err, EBUSY,
			    "its device %s is here, and its intent is being applied",
			    r->dev.name);
	return 0;
}

/* Only the record knows the former state. */
static int refuse_astray(struct intents *in, const struct record *r, struct err *err)
{
	const struct device *dev;
	bool astray;

	model_lock(in->m);
	dev = r->intent.claim[0] ? device_of(in, r) : NULL;
	astray = dev && device_is_astray(dev);
	model_unlock(in->m);
	return astray ? fail(err, EBUSY,
			     "its device %s is here, and may have been made ready for that claim; write "
			     "none to its claim",
			     r->dev.name)
		      : 0;
}

/* The end of an operation writes its results: a settlement meanwhile would be overwritten, or
 * overwrite them. */
static int say_busy(const char *name, struct err *err)
{
	return fail(err, EBUSY, "an operation runs on %s; write again when it has ended", name);
}

/* Nothing of an interrupted operation runs any more, and its device says how to end it. */
static int refuse_busy(struct intents *in, const struct record *r, struct err *err)
{
	const struct device *dev;
	int rc = 0;

	model_lock(in->m);
	dev = device_of(in, r);
	if (dev && dev->busy[0])
		rc = say_busy(r->dev.name, err);
	else if (r->interrupted && dev && dev->stuck[0])
		rc = fail(err, EBUSY, "%s", dev->stuck);
	model_unlock(in->m);
	return rc;
}

/* Call it with save held. */
static int forget_record(struct intents *in, struct rewrite *w, size_t at, struct err *err)
{
	const struct record was = *in->rs.v[at];
	int rc;

	rewrite_drop(w, at);
	rc = rewrite_commit(w, err);
	if (rc)
		return rc;
	model_lock(in->m);
	if (device_of(in, &was))
		record_unnote(model_edit(in->m, &was.dev, false), &was.intent);
	model_publish(in->m);
	model_unlock(in->m);
	return 0;
}

/* Nothing is stored: the process that removed it from the disk may have died before it told the
 * model. Call it with save held. */
static int forget_again(struct intents *in, const char *identity, struct settler *s,
			struct err *err)
{
	struct identity id = { .path = ROOT_PATH, .vf = -1 };
	const struct device *dev;
	char text[IDENTITY_TEXT];
	size_t pos = 0;

	if (!s || !s->again)
		return fail(err, EINVAL, "nothing is stored for %.200s; intents lists what is "
					 "stored",
			    identity);
	s->root = !strcmp(identity_text(&id, text), identity);
	model_lock(in->m);
	while ((dev = model_next(in->m, &pos))) {
		device_identity(in->m, dev, &id);
		if (strcmp(identity_text(&id, text), identity) || dev->busy[0])
			continue;
		s->dev = dev->key;
		record_unnote(model_edit(in->m, &s->dev, false), NULL);
		break;
	}
	model_publish(in->m);
	model_unlock(in->m);
	return 0;
}

static int ask_settler(const struct settler *s, const struct key *dev, bool owned, struct err *err)
{
	return s && s->may ? s->may(s->ctx, dev, owned, err) : 0;
}

/* Call it with save held. */
static int refuse_forget(struct intents *in, const struct record *r, struct settler *s,
			 struct err *err)
{
	int rc = refuse_live(r, err);

	rc = rc ? rc : refuse_astray(in, r, err);
	rc = rc ? rc : refuse_busy(in, r, err);
	if (s && r->birth)
		s->dev = r->dev;
	if (s)
		s->root = record_is_root(r);
	return rc ? rc : ask_settler(s, r->birth ? &r->dev : NULL, r->n_owners, err);
}

int intents_forget(struct intents *in, const char *identity, struct settler *s, struct err *err)
{
	struct rewrite w;
	size_t at;
	int rc = intents_await_look(in, err);

	if (rc)
		return rc;
	pthread_mutex_lock(&in->save);
	rc = rewrite_begin(&w, in, err);
	if (!rc) {
		at = find_text(&in->rs, identity);
		if (at == RECORD_NONE)
			rc = forget_again(in, identity, s, err);
		else
			rc = refuse_forget(in, in->rs.v[at], s, err);
		if (rc || at == RECORD_NONE)
			rewrite_abort(&w);
		else
			rc = forget_record(in, &w, at, err);
	}
	pthread_mutex_unlock(&in->save);
	intents_kick(in);
	return rc;
}

static void renew(struct record *r)
{
	r->decided = false;
	r->tries = r->busy_tries = 0;
	r->state = RECORD_WAITING;
	r->reason[0] = '\0';
}

/* The former card's record becomes that of the present one. */
static int accept_mismatch(struct rewrite *w, const struct device *dev, size_t at, struct err *err)
{
	struct record *r = rewrite_edit(w, at);
	size_t own = records_of_device(&w->next, dev);

	if (!r)
		return fail(err, ENOMEM, "no memory for the stored intents");
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
		struct record *r = own == RECORD_NONE ? record_new() : rewrite_edit(w, own);

		if (!r || (own == RECORD_NONE && records_add(&w->next, r))) {
			if (own == RECORD_NONE)
				record_free(r);
			return fail(err, ENOMEM, "no memory for the stored intents");
		}
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
	if (s && s->again)
		return 0;
	return fail(err, EINVAL, "no stored intent waits for %s to be accepted", key->name);
}

int intents_accept(struct intents *in, const struct key *dev, struct settler *s, struct err *err)
{
	struct rewrite w;
	int rc = intents_await_look(in, err);

	if (rc)
		return rc;
	pthread_mutex_lock(&in->save);
	rc = rewrite_begin(&w, in, err);
	if (!rc) {
		model_lock(in->m);
		rc = accept_device(&w, dev, s, err);
		model_unlock(in->m);
		rc = rc ? rc : ask_settler(s, dev, false, err);
		if (rc)
			rewrite_abort(&w);
		else
			rc = rewrite_commit(&w, err);
		if (!rc && s)
			s->waits = accepted_add(in, dev, s);
	}
	pthread_mutex_unlock(&in->save);
	intents_kick(in);
	return rc;
}
