// SPDX-License-Identifier: GPL-2.0-or-later
/* Shows intents, and the health of what stores them, to people and to Prometheus. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "intents.h"
#include "persist.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"

/* Call it with lock held. */
static const char *state_word(const struct intents *in, const char **ret_hint)
{
	*ret_hint = in->broken.text;
	if (in->broken.code)
		return "broken";
	*ret_hint = in->at.refused.text;
	if (in->at.refused.code)
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
	if (in->at.is_volatile)
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
		snprintf(ret, size,
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
	out_printf(o, " records=%zu fsync_ms=%u.%u fsync_max_ms=%u.%u", in->rs.n,
		   in->sync_us / 1000, in->sync_us / 100 % 10, in->sync_max_us / 1000,
		   in->sync_max_us / 100 % 10);
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
	why = in->broken.code ? &in->broken : &in->at.refused;
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

/* ---- a line each */

/* Call it with the model locked. */
static const char *drift(const struct record *r, const struct device *dev, char *reason,
			 size_t size)
{
	for (size_t i = 0; persists[i]; i++)
		if (record_drifted(r, persists[i], dev, reason, size))
			return "drifted";
	return "held";
}

/* Has its device come since the last pass? */
static bool has_just_come(struct intents *in, const struct record *r)
{
	struct key key;
	const struct device *dev = record_key(r, &key) ? model_find(in->m, &key) : NULL;
	const struct device *parent = dev && device_is_made(dev) ? model_parent(in->m, dev) : NULL;
	struct identity id;

	if (!dev)
		return false;
	identity_of(&id, dev, parent);
	return identity_same_part(&id, &r->id) && record_may_be_here(r, parent ? parent : dev, &id);
}

static const char *describe(struct intents *in, const struct record *r, char *reason, size_t size)
{
	static const char *const names[] = {
		[RECORD_WAITING] = "waiting", [RECORD_HELD] = "held",
		[RECORD_REFUSED] = "refused", [RECORD_MISMATCH] = "stranger",
		[RECORD_DAMAGED] = "damaged",
	};
	const struct device *dev = device_of(in, r);

	snprintf(reason, size, "%s", r->reason);
	if (dev && dev->busy[0] && !r->restoring)
		return "pending";
	if (!dev && r->state == RECORD_WAITING && has_just_come(in, r))
		snprintf(reason, size,
			 "its device has just appeared; the card is not identified yet");
	if (dev && r->state == RECORD_WAITING && !reason[0])
		snprintf(reason, size, "%s",
			 r->restoring ? "it is being restored" : "restore has not tried it yet");
	if (!dev && r->state != RECORD_MISMATCH && !r->aside && !record_is_root(r) &&
	    !r->id.child.bus)
		return names[RECORD_WAITING];
	return r->state == RECORD_HELD && dev ? drift(r, dev, reason, size) : names[r->state];
}

/* The name by which people know its device. */
static const char *called(const struct record *r, char id[static IDENTITY_TEXT])
{
	return r->at[0] ? r->at : identity_text(&r->id, id);
}

static int by_name(const void *a, const void *b)
{
	const struct record *const *x = a, *const *y = b;
	char p[IDENTITY_TEXT], q[IDENTITY_TEXT];

	int order = strcmp(called(*x, p), called(*y, q));

	return order ? order : strcmp(identity_text(&(*x)->id, p), identity_text(&(*y)->id, q));
}

/* Call it with the model locked. */
static void print_line(struct intents *in, const struct record *r, struct out *o)
{
	char id[IDENTITY_TEXT], dev[KEY_NAME + 8], reason[sizeof(r->reason)];
	const char *state = describe(in, r, reason, sizeof(reason));
	struct out said = { 0 };

	out_printf(o, "%s state=%s device=%s", called(r, id), state,
		   r->birth ? key_id(&r->dev, dev) : "none");
	record_asked(r, o);
	if (r->aside)
		out_pair(o, "line", r->aside);
	out_for_all(&said, reason);
	if (reason[0])
		out_pair(o, "reason", out_text(&said));
	o->failed |= said.failed;
	out_free(&said);
	out_printf(o, " identity=%s", identity_text(&r->id, id));
	record_details(r, o);
	out_put(o, "\n", 1);
}

void intents_print(struct intents *in, struct out *o)
{
	const struct record **v;

	pthread_mutex_lock(&in->lock);
	v = malloc((in->rs.n + 1) * sizeof(*v));
	for (size_t i = 0; i < in->rs.n && v; i++)
		v[i] = in->rs.v[i];
	if (v)
		qsort(v, in->rs.n, sizeof(*v), by_name);
	o->failed |= !v;
	model_lock(in->m);
	for (size_t i = 0; i < in->rs.n && v; i++)
		print_line(in, v[i], o);
	model_unlock(in->m);
	pthread_mutex_unlock(&in->lock);
	free(v);
}

void intents_metrics(struct intents *in, struct out *o)
{
	pthread_mutex_lock(&in->lock);
	model_lock(in->m);
	for (size_t i = 0; i < in->rs.n; i++) {
		const struct record *r = in->rs.v[i];
		char id[IDENTITY_TEXT], dev[KEY_NAME + 8], reason[sizeof(r->reason)];

		if (record_is_root(r))
			continue;
		out_printf(o, "pcidevfs_intent{");
		out_label(o, "identity", identity_text(&r->id, id));
		out_put(o, ",", 1);
		out_label(o, "device", r->birth ? key_id(&r->dev, dev) : r->at[0] ? r->at : "none");
		out_printf(o, ",present=\"%d\",", (r->birth && device_of(in, r)) || r->card_here);
		out_label(o, "state", describe(in, r, reason, sizeof(reason)));
		out_put(o, ",", 1);
		out_label(o, "claim", r->intent.claim[0] ? r->intent.claim : "none");
		out_put(o, "} 1\n", 4);
	}
	model_unlock(in->m);
	pthread_mutex_unlock(&in->lock);
}

void intents_absent(struct intents *in, void (*take)(void *ctx, const struct absent *a), void *ctx)
{
	pthread_mutex_lock(&in->lock);
	model_lock(in->m);
	for (size_t i = 0; i < in->rs.n; i++) {
		const struct record *r = in->rs.v[i];
		struct absent a = { .at = r->at, .claim = r->intent.claim };
		char reason[sizeof(r->reason)];

		if (!a.at[0] || !a.claim[0] || r->as_well || device_of(in, r))
			continue;
		a.state = describe(in, r, reason, sizeof(reason));
		a.reason = reason;
		take(ctx, &a);
	}
	model_unlock(in->m);
	pthread_mutex_unlock(&in->lock);
}
