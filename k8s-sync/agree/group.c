// SPDX-License-Identifier: GPL-2.0-or-later
/* Which steps have to wait. The tree has one value for all members of an IOMMU group, and each
 * member has a claim of its own. */
#include <string.h>

#include "agree.h"
#include "inventory.h"
#include "pcidevfs/util.h"

/* Is that v, or the same value of another member? */
static bool shares(const struct value *v, const char *about)
{
	const char *file = strrchr(about, '/');
	const struct inv_dev *d;

	if (!strcmp(about, v->about) || !v->row->claim || !file || strcmp(file + 1, v->row->file))
		return !strcmp(about, v->about);
	d = line_device(v->w, about);
	return d && dev_is_one_group(v->dev, d);
}

/* A line about it is on its way, or its effect is: the tree does not say yet what it will say. What
 * is taken back meanwhile would otherwise be read from the tree as a user's request. */
bool value_is_on_its_way(const struct value *v)
{
	/* Another member's: what the cluster wants is noted all the same, before it is gone. */
	bool notes =
		v->accord.what == ACCORD_NOTE && *v->accord.note && !accord_leads(&v->accord, '<');
	uint64_t tree = fnv1a(FNV1A, v->tree, strlen(v->tree));

	for (const struct verdict *last = v->w->verdicts; last; last = last->next)
		if ((last->running || (last->lands && last->was == tree)) &&
		    (notes ? !strcmp(v->about, last->about) : shares(v, last->about)))
			return true;
	return false;
}

bool value_is_written(const struct value *v)
{
	json_object *claims = v->row->claim ? v->w->writing[v->row->claim->claim] : NULL;
	const char *claim = v->claim ? js_text(v->claim, "metadata.name") : v->name;

	return json_object_object_get_ex(v->w->writing[v->row->kind], v->name, NULL) ||
	       json_object_object_get_ex(claims, claim, NULL);
}

/* ---- the other members */

typedef bool about_peer(const struct value *v, const struct value *peer);

/* Of one of the other members; to ret, if that is not NULL. */
static bool is_of_peer(const struct value *v, about_peer *is, struct value *ret)
{
	const struct inventory *inv = v->w->inv;
	struct value peer;

	for (size_t i = 0; i < inv->n && v->row->claim; i++) {
		if (inv->v[i] == v->dev || !dev_is_one_group(v->dev, inv->v[i]) ||
		    !value_look(v->w, v->row, inv->v[i], &peer) || !is(v, &peer))
			continue;
		if (ret)
			*ret = peer;
		return true;
	}
	return false;
}

static bool is_refused(const struct value *v)
{
	return v->verdict && !v->verdict->running && v->verdict->err.code;
}

/* It will change the tree, if nobody takes that back. */
static bool is_asking(const struct value *v, const struct value *peer)
{
	(void)v;
	return accord_leads(&peer->accord, '>') && !is_refused(peer);
}

/* The tree follows that one's claim, or its end. */
static bool is_leading(const struct value *v, const struct value *peer)
{
	return !strcmp(peer->cluster, v->tree);
}

/* Its note does not tell yet what is agreed. */
static bool is_unsettled(const struct value *v, const struct value *peer)
{
	(void)v;
	return value_is_written(peer) || value_is_on_its_way(peer) ||
	       (peer->accord.what == ACCORD_NOTE && group_lets(peer));
}

/* Whoever claims or releases several members asks for each, one behind another. Until the claims
 * that nobody has asked for follow they count as agreed. */
bool group_lets(const struct value *v)
{
	if (v->accord.what == ACCORD_TO_TREE)
		return !is_of_peer(v, is_unsettled, NULL);
	if (accord_leads(&v->accord, '<'))
		return !is_of_peer(v, is_asking, NULL) &&
		       (v->open_ms >= SIBLING_MS || !is_of_peer(v, is_leading, NULL));
	/* The tree has its user still, and may be about to lose it for another member's sake. */
	return v->whose != WHOSE_ANEW || !is_of_peer(v, is_asking, NULL);
}

static bool has_claim_of(const struct value *v, const struct value *peer)
{
	return peer->claim && !strcmp(peer->cluster, v->tree);
}

const char *group_user(const struct value *v)
{
	struct value peer;

	return is_of_peer(v, has_claim_of, &peer) ? js_text(peer.claim, "spec.userName") : v->tree;
}
