// SPDX-License-Identifier: GPL-2.0-or-later
/* Shows intents, to people and to Prometheus. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "intents.h"
#include "persist.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"

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
		[RECORD_WAITING] = "waiting",
		[RECORD_HELD] = "held",
		[RECORD_REFUSED] = "refused",
		[RECORD_MISMATCH] = "stranger",
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
		out_printf(o, ",present=\"%d\",",
			   (r->birth && device_of(in, r)) || r->card_here);
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
