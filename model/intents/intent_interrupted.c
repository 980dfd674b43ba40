// SPDX-License-Identifier: GPL-2.0-or-later
/* Interrupted operations: both processes of a daemon left them half way while the machine runs on.
 * The device's record has what the operation was about to change; the next daemon undoes what is
 * safe to undo. */
#include <errno.h>
#include <string.h>

#include "intents.h"
#include "persist.h"
#include "pcidevfs/model.h"

#define ENDED "pcidevfsd ended during an operation on "

void interrupted_begin(const struct intents *in, struct record *r, const struct device *dev)
{
	STR_COPY(r->boot, in->boot);
	if (r->interrupted) /* it has the state before the interrupted operation */
		return;
	r->autoprobe =
		dev->facts.total_vfs >= 0 && (dev->facts.autoprobe || dev->intent.autoprobe_off);
	r->had_vfs = dev->facts.num_vfs > 0 ? dev->facts.num_vfs : 0;
	STR_COPY(r->had_profile, dev->facts.profile_id);
}

/* All that restore applies is already on the disk, which may be full; but not the PF's former
 * autoprobe. */
void interrupted_begin_restore(const struct intents *in, struct record *r, const struct device *dev,
		       const struct persist *k)
{
	bool guests = false;

	for (size_t i = 0; i < ARRAY_SIZE(dev->intent.vf_claims); i++)
		guests |= dev->intent.vf_claims[i];
	if (guests && !k->of_group)
		interrupted_begin(in, r, dev);
}

bool interrupted_in_hand(const struct pass *p, const struct record *r)
{
	const struct device *dev = device_of(p->in, r), *pf;
	struct identity id = r->id;
	size_t at;

	if (dev && dev->busy[0])
		return true;
	if (id.vf < 0 && !id.child.bus)
		return false;
	id.vf = -1;
	id.child = (struct key){ 0 };
	if (pass_lookup(p, &id, &at) != MATCH_HERE)
		return false;
	pf = model_find(p->in->m, &p->candidates[at].key);
	return pf && pf->busy[0];
}

int interrupted_begin_unborn(struct rewrite *w, const struct request *request, struct err *err)
{
	char parent[KEY_NAME + 8];
	struct identity id;
	struct record *r;
	size_t at;

	if (!request_parent(request) || !request_identity(w->in->m, request, &id))
		return 0;
	at = records_of_identity(&w->next, &id);
	r = at == RECORD_NONE ? rewrite_add(w) : rewrite_edit(w, at);
	if (!r)
		return fail(err, ENOMEM, "no memory for the stored intents");
	if (at == RECORD_NONE) { /* nothing of it is in the model */
		r->id = id;
		r->noted = false;
		r->in = 0;
		if (request->child)
			snprintf(r->at, sizeof(r->at), "%.39s/virtfn%d",
				 key_id(&request->dev, parent), id.vf);
		else
			record_set_at(r, &request->dev);
	}
	STR_COPY(r->boot, w->in->boot);
	r->pending = r->unborn = true;
	w->optional = false;
	return 0;
}

bool interrupted_is_ours(const struct intents *in, const struct record *r)
{
	return interrupted_is_begun(r) && !strcmp(r->boot, in->boot) &&
	       (!r->interrupted || in->goes_on);
}

bool interrupted_decides(const struct intents *in, const struct record *r)
{
	return interrupted_is_ours(in, r) && (r->interrupted || !r->id.child.bus);
}

/* Children before parents; the row of a request that is just being settled does not count. */
static const struct persist *half_but(const struct record *r, const struct device *dev,
				   const struct persist *settled, bool *ret_mends)
{
	size_t i = 0;

	while (persists[i])
		i++;
	while (i-- > 0) {
		enum half half = persists[i]->half && persists[i] != settled
					 ? persists[i]->half(r, dev)
					 : HALF_NOT;

		*ret_mends = half == HALF_MENDS;
		if (half != HALF_NOT)
			return persists[i];
	}
	return NULL;
}

const struct persist *interrupted_half(const struct record *r, const struct device *dev,
				       bool *ret_mends)
{
	*ret_mends = false;
	return r->interrupted ? half_but(r, dev, NULL, ret_mends) : NULL;
}

void interrupted_end(struct record *r, const struct device *dev, const char *file)
{
	const struct persist *k = persist_find(file);
	bool mends;

	if (r->interrupted && !(k && k->value))
		return; /* a note does not change it */
	if (!r->interrupted || !half_but(r, dev, k, &mends)) {
		interrupted_forget(r);
	} else if (!k->of_group) { /* its VFs are as requested now */
		r->autoprobe = false;
		r->had_vfs = dev->facts.num_vfs;
	}
}

/* False for the sentence of an operation that a present process will undo. */
static bool said_cut(const struct device *dev)
{
	return !strncmp(dev->stuck, ENDED, strlen(ENDED));
}

void interrupted_find(const struct intents *in, struct record *r, const struct device *dev)
{
	/* After a reboot nothing is half done; resumed operations take care of themselves. */
	r->interrupted &= (!in->goes_on || said_cut(dev)) && !strcmp(r->boot, in->boot);
}

void interrupted_say(struct intents *in, struct record *r)
{
	struct device *dev = model_edit(in->m, &r->dev, false);
	const struct persist *k;
	bool mends;

	if (!dev || dev->busy[0])
		return;
	k = interrupted_half(r, dev, &mends);
	if (!k) {
		r->interrupted = false;
		if (said_cut(dev))
			dev->stuck[0] = '\0';
		dev->intent.autoprobe_off &= !dev->facts.autoprobe;
		return;
	}
	if (dev->stuck[0] && !said_cut(dev))
		return;
	/* A 0 is of the interrupted operation; and if it is 1 by now some VFs may not have been
	 * probed. */
	dev->intent.autoprobe_off |= r->autoprobe && !k->of_group;
	snprintf(dev->stuck, sizeof(dev->stuck),
		 ENDED "%s, which may be half done%s%.90s; write %s%s again", dev->key.name,
		 r->reason[0] ? ": " : "", r->reason,
		 k->of_group ? "none to its claim, or claim it" : "its ",
		 k->of_group ? "" : k->file);
}

/* Existing VFs without a stored number stay. */
static void make_request(const struct record *r, const struct device *dev, const struct persist *k,
		      bool mends, struct request *ret)
{
	*ret = (struct request){ .dev = r->dev };
	STR_COPY(ret->file, k->file);
	if (mends || k->of_group)
		k->value(r, ret->value);
	else
		snprintf(ret->value, sizeof(ret->value), "%d", dev->facts.num_vfs);
}

bool intents_interrupted(struct intents *in, unsigned int n, struct request *ret)
{
	bool found = false;

	pthread_mutex_lock(&in->lock);
	model_lock(in->m);
	for (size_t i = 0; i < in->rs.n && !found; i++) {
		const struct record *r = in->rs.v[i];
		const struct device *dev = device_of(in, r);
		bool mends = false;
		const struct persist *k = dev ? interrupted_half(r, dev, &mends) : NULL;

		found = k && !n;
		if (found)
			make_request(r, dev, k, mends, ret);
		n -= k && n;
	}
	model_unlock(in->m);
	pthread_mutex_unlock(&in->lock);
	return found;
}
