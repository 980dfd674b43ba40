// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An act that both processes of a daemon have left half way while the machine runs on. What it was about to change
 * is in its device's record; the next daemon finds that there, and takes back what is safe to be taken back.
 */
#include <errno.h>
#include <string.h>

#include "intents.h"
#include "kept.h"
#include "pcidevfs/model.h"

#define CUT "pcidevfsd has ended in the middle of an act on "

void cut_begin(const struct intents *in, struct record *r, const struct device *dev)
{
	STR_COPY(r->boot, in->boot);
	if (r->cut) /* it tells how it was before the act that was cut short */
		return;
	r->autoprobe =
		dev->facts.total_vfs >= 0 && (dev->facts.autoprobe || dev->want.autoprobe_off);
	r->had_vfs = dev->facts.num_vfs > 0 ? dev->facts.num_vfs : 0;
}

/* All that it brings back is written down already, and the disk may be full; but not what the PF's autoprobe was. */
void cut_begin_restore(const struct intents *in, struct record *r, const struct device *dev,
		       const struct kept *k)
{
	bool guests = false;

	for (size_t i = 0; i < ARRAY_SIZE(dev->want.vf_claims); i++)
		guests |= dev->want.vf_claims[i];
	if (guests && !k->of_group)
		cut_begin(in, r, dev);
}

bool cut_in_hand(const struct pass *p, const struct record *r)
{
	const struct device *dev = device_of(p->in, r), *pf;
	struct identity id = r->id;
	size_t at;

	if (dev && dev->busy[0])
		return true;
	if (id.vf < 0)
		return false;
	id.vf = -1;
	if (pass_lookup(p, &id, &at) != MATCH_HERE)
		return false;
	pf = model_find(p->in->m, &p->seats[at].key);
	return pf && pf->busy[0];
}

int cut_begin_unborn(struct rewrite *w, const struct wish *wish, struct err *err)
{
	char parent[KEY_NAME + 8];
	struct identity id;
	struct record *r;
	size_t at;

	if (!wish_parent(wish) || !wish_identity(w->in->m, wish, &id))
		return 0;
	at = records_of_identity(&w->next, &id);
	r = at == RECORD_NONE ? rewrite_add(w) : rewrite_edit(w, at);
	if (!r)
		return fail(err, ENOMEM, "no memory to keep what was asked");
	if (at == RECORD_NONE) { /* of which nothing is in the model */
		r->id = id;
		r->noted = false;
		r->in = 0;
		if (wish->child)
			snprintf(r->at, sizeof(r->at), "%.39s/virtfn%d", key_id(&wish->dev, parent), id.vf);
		else
			record_set_at(r, &wish->dev);
	}
	STR_COPY(r->boot, w->in->boot);
	r->pending = r->unborn = true;
	w->optional = false;
	return 0;
}

bool cut_is_ours(const struct intents *in, const struct record *r)
{
	return cut_is_begun(r) && !strcmp(r->boot, in->boot) && (!r->cut || in->goes_on);
}

/* Children before parents; the row of a wish that is settled just now no longer counts. */
static const struct kept *half_but(const struct record *r, const struct device *dev,
				   const struct kept *settled, bool *ret_mends)
{
	size_t i = 0;

	while (kept[i])
		i++;
	while (i-- > 0) {
		enum half half =
			kept[i]->half && kept[i] != settled ? kept[i]->half(r, dev) : HALF_NOT;

		*ret_mends = half == HALF_MENDS;
		if (half != HALF_NOT)
			return kept[i];
	}
	return NULL;
}

const struct kept *cut_half(const struct record *r, const struct device *dev, bool *ret_mends)
{
	*ret_mends = false;
	return r->cut ? half_but(r, dev, NULL, ret_mends) : NULL;
}

void cut_end(struct record *r, const struct device *dev, const char *file)
{
	const struct kept *k = kept_find(file);
	bool mends;

	if (r->cut && !(k && k->value))
		return; /* a note on it leaves it as it is */
	if (!r->cut || !half_but(r, dev, k, &mends)) {
		cut_forget(r);
	} else if (!k->of_group) { /* its VFs are as was asked now */
		r->autoprobe = false;
		r->had_vfs = dev->facts.num_vfs;
	}
}

/* Not what an act says that a process of now is to take back. */
static bool said_cut(const struct device *dev)
{
	return !strncmp(dev->stuck, CUT, strlen(CUT));
}

void cut_find(const struct intents *in, struct record *r, const struct device *dev)
{
	/* After a reboot nothing is half done; what goes on is in the hands of the act itself. */
	r->cut &= (!in->goes_on || said_cut(dev)) && !strcmp(r->boot, in->boot);
}

void cut_say(struct intents *in, struct record *r)
{
	struct device *dev = model_edit(in->m, &r->dev, false);
	const struct kept *k;
	bool mends;

	if (!dev || dev->busy[0])
		return;
	k = cut_half(r, dev, &mends);
	if (!k) {
		r->cut = false;
		if (said_cut(dev))
			dev->stuck[0] = '\0';
		dev->want.autoprobe_off &= !dev->facts.autoprobe;
		return;
	}
	if (dev->stuck[0] && !said_cut(dev))
		return;
	/* A 0 is of the act that was cut short, and where it is 1 by now some VFs may not have met it. */
	dev->want.autoprobe_off |= r->autoprobe && !k->of_group;
	snprintf(dev->stuck, sizeof(dev->stuck), CUT "%s, which may be half done%s%.90s; write %s",
		 dev->key.name, r->reason[0] ? ": " : "", r->reason,
		 k->of_group ? "none to its claim, or claim it again" : "its sriov_numvfs again");
}

/* Of VFs that nobody has stored, those that are there stay. */
static void make_wish(const struct record *r, const struct device *dev, const struct kept *k,
		      bool mends, struct wish *ret)
{
	*ret = (struct wish){ .dev = r->dev };
	STR_COPY(ret->file, k->file);
	if (mends || k->of_group)
		k->value(r, ret->value);
	else
		snprintf(ret->value, sizeof(ret->value), "%d", dev->facts.num_vfs);
}

bool intents_cut(struct intents *in, unsigned int n, struct wish *ret)
{
	bool found = false;

	pthread_mutex_lock(&in->lock);
	model_lock(in->m);
	for (size_t i = 0; i < in->rs.n && !found; i++) {
		const struct record *r = in->rs.v[i];
		const struct device *dev = device_of(in, r);
		bool mends = false;
		const struct kept *k = dev ? cut_half(r, dev, &mends) : NULL;

		found = k && !n;
		if (found)
			make_wish(r, dev, k, mends, ret);
		n -= k && n;
	}
	model_unlock(in->m);
	pthread_mutex_unlock(&in->lock);
	return found;
}
