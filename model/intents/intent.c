// SPDX-License-Identifier: GPL-2.0-or-later
/* The records of intents, and how they follow the model onto the disk. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "intents.h"
#include "persist.h"
#include "pcidevfs/model.h"
#include "pcidevfs/resource.h"
#include "pcidevfs/thread.h"

static void end_claim(struct record *r)
{
	intent_end_claim(&r->intent);
	r->driver[0] = '\0';
	r->group = 0;
}

/* An intent that could not be restored is not in the model, so no guard has seen it. */
static void end_other(struct record *r, const struct persist *asked)
{
	const struct persist *other = asked ? asked->ends : NULL;

	if (asked && asked->ends_claim && !persist_has(asked, &r->intent))
		end_claim(r);
	if (!other || !persist_has(asked, &r->intent) || !persist_has(other, &r->intent))
		return;
	if (other->with_claim)
		end_claim(r);
	else
		persist_clear(other, &r->intent);
}

/* The model has all that the record has now: after a kill it decides. */
static void mark_noted(struct model *m, const struct device *dev)
{
	struct device *edit = dev->intent.noted ? NULL : model_edit(m, &dev->key, false);

	if (edit)
		edit->intent.noted = true;
}

/* Updates the record from the model, as far as the model has its parts: stored intents that could
 * not be applied yet are not in it, unless this request is about them. */
static void follow(const struct intents *in, struct record *r, const struct device *dev,
		   const struct persist *own, bool begins)
{
	struct model *m = in->m;

	if (begins)
		STR_COPY(r->boot, in->boot);
	else if (!r->interrupted || (own && own->none)) /* a note does not change it */
		r->boot[0] = '\0';
	for (size_t i = 0; persists[i]; i++) {
		const struct persist *k = persists[i];
		bool asked = k == own;

		/* A record that was begun before its device was there lacks what came with it. */
		if (!begins && (asked || !persist_has(k, &r->intent)))
			r->in |= persist_bit(k);
		if (!(k->none ? r->in & persist_bit(k) : r->noted || asked))
			continue;
		if (k->follow)
			k->follow(m, r, dev);
		else
			persist_copy(k, &r->intent, &dev->intent);
	}
	if (!begins && r->noted)
		mark_noted(m, dev);
	if (!persist_missing(r)) /* else restore's answer stands */
		record_say(r, RECORD_HELD, "");
}

/* with: what ends with the claim, or NULL. */
static int drop_claim(struct rewrite *w, size_t i, const struct persist *with, struct err *err)
{
	struct record *r = rewrite_edit(w, i);

	if (!r)
		return fail_nomem(err);
	if (with)
		persist_clear(with, &r->intent);
	end_claim(r);
	r->boot[0] = '\0';
	return 0;
}

int rewrite_release(struct rewrite *w, uint64_t group, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; group && i < w->next.n && !rc; i++)
		if (w->next.v[i] && w->next.v[i]->group == group && !device_of(w->in, w->next.v[i]))
			rc = drop_claim(w, i, NULL, err);
	return rc;
}

/* Is the record about the absent device that the request names? Call it with the model locked. */
static bool is_about(struct rewrite *w, const struct record *r, const struct request *request)
{
	struct identity id;
	struct key at;

	if (!request_parent(request))
		return record_key(r, &at) && key_eq(&at, &request->dev);
	return request_identity(w->in->m, request, &id) && identity_eq(&r->id, &id);
}

/* A released VF was removed by the same operation, or a mediated device by its own: its claim is
 * dropped, with those of its group. */
static int release_absent(struct rewrite *w, const struct request *request, const struct persist *k,
			  struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < w->next.n && !rc; i++) {
		const struct record *r = w->next.v[i];
		uint64_t group = r ? r->group : 0;

		if (!r || !(r->intent.claim[0] || r->intent.profile[0]) || !is_about(w, r, request))
			continue;
		rc = drop_claim(w, i, k->made_by ? k : NULL, err);
		rc = rc ? rc : rewrite_release(w, group, err);
	}
	return rc;
}

/* Likewise: what is stored of this file alone. */
static int forget_absent(struct rewrite *w, const struct request *request, const struct persist *k,
			 struct err *err)
{
	for (size_t i = 0; i < w->next.n; i++) {
		const struct record *r = w->next.v[i];
		struct record *edit;

		if (!r || !persist_has(k, &r->intent) || !is_about(w, r, request))
			continue;
		edit = rewrite_edit(w, i);
		if (!edit)
			return fail_nomem(err);
		persist_clear(k, &edit->intent);
	}
	return 0;
}

/* NULL: nothing is stored for it. */
static const struct record *record_of(const struct rewrite *w, const struct device *dev)
{
	size_t at = rewrite_at(w, dev);

	return at == RECORD_NONE ? NULL : w->next.v[at];
}

static uint64_t group_of(const struct rewrite *w, const struct device *dev)
{
	const struct record *r = record_of(w, dev);

	return r ? r->group : 0;
}

/* Between restore's look and its operation somebody may have requested something else, or another
 * card may have come. */
static int refuse_outdated(struct rewrite *w, const struct device *dev, const struct persist *k,
			   const struct request *request, struct err *err)
{
	const struct record *r = record_of(w, dev);
	char value[REQUEST_VALUE];

	if (r && k && k->none) {
		persist_value(k, r, value);
		if (!strcmp(request->value, value))
			return 0;
	}
	return fail(err, EBUSY,
		    "another value was requested for %s before the stored one could be applied",
		    dev->key.name);
}

/* A member that came between restore's look and its plan did not belong to the claimed group. */
static int refuse_latecomer(const struct rewrite *w, const struct device *dev,
			    const struct device *const *members, size_t n, struct err *err)
{
	uint64_t group = group_of(w, dev);

	for (size_t i = 0; i < n && group; i++) {
		if (group_of(w, members[i]) == group)
			continue;
		fail(err, EBUSY,
		     "%s came into the IOMMU group of %s while its claim was being restored",
		     members[i]->key.name, dev->key.name);
		if (err)
			err->passing = true;
		return -EBUSY;
	}
	return 0;
}

/* That of a claim by the same name for the other ids that the device sometimes has: both are one
 * claim. 0: there is none. */
static uint64_t group_of_place(const struct rewrite *w, const struct device *dev)
{
	struct identity id;

	device_identity(w->in->m, dev, &id);
	for (size_t i = 0; dev->intent.claim[0] && i < w->next.n; i++) {
		const struct record *r = w->next.v[i];

		if (r && r->group && identity_same_part(&r->id, &id) &&
		    !strcmp(r->id.path, id.path) && !strcmp(r->intent.claim, dev->intent.claim))
			return r->group;
	}
	return 0;
}

/* The group id under which these members were claimed; kept as long as the claim, so that absent
 * members are restored or released with them. 0: none. */
static uint64_t former_group(const struct rewrite *w, const struct device *const *members, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct record *r = record_of(w, members[i]);

		if (r && r->group && !strcmp(r->intent.claim, members[i]->intent.claim))
			return r->group;
	}
	for (size_t i = 0; i < n; i++) {
		uint64_t group = group_of_place(w, members[i]);

		if (group)
			return group;
	}
	return 0;
}

/* An unapplied claim stored for a peer that was not claimed with this device stays its owner's. */
static bool is_others(const struct rewrite *w, const struct device *dev, const struct device *peer)
{
	const struct record *r = record_of(w, peer);

	return peer != dev && r && persist_is_missing(&persist_claim, r) &&
	       r->group != group_of(w, dev);
}

/* The devices whose records the request may change. */
static size_t find_members(const struct rewrite *w, const struct persist *k,
			   const struct request *request, const struct device *dev,
			   const struct device *ret[CLAIM_MEMBERS])
{
	size_t n = 1, left = 0;

	ret[0] = dev;
	if (k && k->of_group)
		n = model_claim_members(w->in->m, dev, ret, NULL);
	for (size_t i = 0; i < n; i++)
		if (k != &persist_claim || request->value[0] || !is_others(w, dev, ret[i]))
			ret[left++] = ret[i];
	return left;
}

/* Is an intent of it stored that restore has not applied yet, or is applying? */
static bool is_unborn(const struct record *r, const struct device *dev, const struct persist *k)
{
	bool seen = r && r->birth == dev->birth && r->noted;

	return k && r && (!seen || r->restoring || (!r->decided && persist_is_missing(k, r))) &&
	       persist_has(k, &r->intent) && !persist_has(k, &dev->intent);
}

/* Intents count from the device's appearance, although the model gets them only in the first pass:
 * a different request must not win that race. */
static int refuse_early(struct rewrite *w, const struct request *request, const struct persist *k,
			const struct device *dev, struct err *err)
{
	const struct record *r = record_of(w, dev);
	bool takes = k && k->none && strcmp(request->value, k->none) && request->value[0];
	char value[REQUEST_VALUE] = "";
	const struct persist *stored = NULL;

	if (request->restores || !k || !k->none)
		return 0;
	if (is_unborn(r, dev, k))
		persist_value(k, r, value);
	if (value[0] && strcmp(value, request->value))
		stored = k;
	else if (takes && is_unborn(r, dev, k->ends))
		stored = k->ends;
	if (!stored)
		return 0;
	persist_value(stored, r, value);
	return fail(err, EBUSY, "%s of %s is stored as %.100s and is being restored; write again",
		    stored->file, dev->key.name, value);
}

/* Removed VFs would lose their claims. */
static int refuse_early_vfs(struct rewrite *w, const struct request *request,
			    const struct device *pf, struct err *err)
{
	const struct request none = { .file = "claim" };
	const struct device *vfs[INTENT_VFS];
	size_t n = model_children(w->in->m, &pf->key, BUS_NONE, vfs, INTENT_VFS);
	int rc = 0;

	if (request->restores || strcmp(request->file, persist_vfs.file))
		return 0;
	for (size_t i = 0; i < n && i < INTENT_VFS && !rc; i++)
		rc = refuse_early(w, &none, &persist_claim, vfs[i], err);
	return rc;
}

/* Restore gives back what --early has kept from the host for a record of another card: there is
 * nothing to store. */
static bool gives_back(const struct rewrite *w, const struct request *request,
		       const struct device *dev)
{
	const struct record *r = record_of(w, dev);

	return request->restores && !request->value[0] && r && r->state == RECORD_MISMATCH;
}

/* Updates everything that the request may change. Call it with the model locked. */
static int follow_request(struct rewrite *w, const struct request *request, bool begins,
			  struct err *err)
{
	const struct device *members[CLAIM_MEMBERS], *dev;
	const struct persist *k = persist_find(request->file);
	struct model *m = w->in->m;
	uint64_t released = 0, group;
	struct request found;
	size_t n;

	if (!k) /* as reset: nothing of it is stored */
		return 0;
	if (request_resolve(m, request, &found) || !(dev = model_find(m, &found.dev))) {
		if (begins || !engine_takes_away(w->in->e, request))
			return 0;
		return k == &persist_claim || k->made_by ? release_absent(w, request, k, err)
							 : forget_absent(w, request, k, err);
	}
	if (gives_back(w, request, dev))
		return 0;
	if (request->restores && refuse_outdated(w, dev, k, request, err))
		return -EBUSY; /* the same request by a user must be refused as well */
	n = find_members(w, k, &found, dev, members);
	if (request->restores && found.value[0] && refuse_latecomer(w, dev, members, n, err))
		return -EBUSY;
	/* An operation with steps was asked before the first of them. */
	for (size_t i = 0; i < n; i++)
		if ((begins || !members[i]->busy[0] || !engine_acts(w->in->e, members[i])) &&
		    refuse_early(w, request, k, members[i], err))
			return -EBUSY;
	/* Before the operation, for existing children: those that it makes may have claims to
	 * restore. */
	if (begins && refuse_early_vfs(w, request, dev, err))
		return -EBUSY;
	group = former_group(w, members, n);
	for (size_t i = 0; i < n; i++) {
		struct record *r = NULL;
		int rc = rewrite_record(w, members[i], &r, err);

		if (!r)
			return rc;
		if (!begins && !members[i]->intent.claim[0] && k == &persist_claim)
			released = r->group ? r->group : released;
		w->optional &= request->restores;
		if (!begins || (w->in->marks && !request->restores))
			follow(w->in, r, members[i], k, begins);
		if (!begins && !request->restores)
			end_other(r, k);
		if (group && !begins && r->intent.claim[0])
			r->group = group;
	}
	return rewrite_release(w, released, err);
}

int intents_keep(void *ctx, const struct request *requests, size_t n, bool begins, struct err *err)
{
	struct intents *in = ctx;
	struct rewrite w;
	bool told, over = false;
	int rc;

	pthread_mutex_lock(&in->save);
	told = in->told;
	rc = rewrite_begin(&w, in, err);
	if (!rc) {
		w.optional = true;
		model_lock(in->m);
		for (size_t i = 0; i < n && !rc; i++) {
			if (!requests[i].restores)
				model_wrote(in->m,
					    request_parent(&requests[i]) ?: &requests[i].dev);
			rc = follow_request(&w, &requests[i], begins, err);
		}
		model_unlock(in->m);
		rc = rewrite_end(&w, rc, err);
		for (size_t i = 0; i < in->rs.n; i++)
			over |= in->rs.v[i]->over;
	}
	pthread_mutex_unlock(&in->save);
	/* A request settled without a change of its device still has its reason there. */
	if (over || (told && !begins))
		intents_kick(in);
	return rc;
}

/* ---- open and close */

int intents_new(const char *dir, struct intents **ret, struct err *err)
{
	struct intents *in = calloc(1, sizeof(*in));

	if (!in || !(in->dir = strdup(dir))) {
		free(in);
		return fail_nomem(err);
	}
	in->at.fd = in->at.lock_fd = -1;
	pthread_mutex_init(&in->save, NULL);
	pthread_mutex_init(&in->lock, NULL);
	pthread_mutex_init(&in->turn, NULL);
	cond_init(&in->quiet);
	cond_init(&in->asked);
	statedir_open(in, &in->at,
		      &in->broken); /* health, and refusals of requests, tell what is wrong */
	*ret = in;
	return 0;
}

void intents_open(struct intents *in, const struct intents_conf *conf, struct model *m)
{
	in->m = m;
	in->told = true; /* perhaps by a former process */
	in->copy = conf->copy;
	in->copy_size = conf->copy ? conf->copy_size : 0;
	STR_COPY(in->boot, conf->boot_id);
	in->marks = conf->marks;
	pthread_mutex_lock(&in->save);
	if (!in->broken.code)
		intents_ready(in, NULL);
	pthread_mutex_unlock(&in->save);
	intents_tell_model(in);
	model_observe(m, &(struct observer){ intents_changed, in });
}

void intents_close(struct intents *in)
{
	if (!in)
		return;
	if (in->m)
		model_on_stored(in->m, &(const struct stored){ 0 });
	index_fini(&in->places);
	records_free(&in->rs);
	statedir_close(&in->at);
	pthread_cond_destroy(&in->asked);
	pthread_cond_destroy(&in->quiet);
	pthread_mutex_destroy(&in->turn);
	pthread_mutex_destroy(&in->lock);
	pthread_mutex_destroy(&in->save);
	free(in->dir);
	free(in);
}
