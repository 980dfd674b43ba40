// SPDX-License-Identifier: GPL-2.0-or-later
/* Two records that turn out to be of one device, whose serial number was read late, become one. */
#include <errno.h>
#include <string.h>

#include "intents.h"
#include "kept.h"

/* Does what the later one asks for end it? */
static bool is_ended(const struct kept *k, const struct want *later)
{
	for (size_t i = 0; kept[i]; i++)
		if (kept[i]->ends == k && kept_has(kept[i], later))
			return true;
	return false;
}

/* What the device had before is known to who has met it with its host driver. */
static void merge_former(struct want *w, const struct want *former)
{
	if (former_is_none(w->former) && former->former_known) {
		STR_COPY(w->former, former->former);
		w->former_known = true;
	}
}

static void merge_wishes(struct record *r, const struct record *former)
{
	bool claimed = r->want.claim[0];

	for (size_t i = 0; kept[i]; i++)
		if (!kept_has(kept[i], &r->want) && !is_ended(kept[i], &r->want) &&
		    !(kept[i]->with_claim && claimed))
			kept_copy(kept[i], &r->want, &former->want);
	if (r->want.claim[0] && !claimed) {
		STR_COPY(r->driver, former->driver);
		r->group = former->group;
	}
	if (r->want.claim[0])
		merge_former(&r->want, &former->want);
	else
		kept_clear_with_claim(&r->want);
}

static int merge_owners(struct record *r, const struct record *former)
{
	for (size_t i = 0; i < former->n_owners; i++)
		if (record_add_owner(r, &former->owners[i]))
			return -ENOMEM;
	return 0;
}

static void merge_act(struct record *r, const struct record *former)
{
	if (cut_is_begun(r) || !cut_is_begun(former))
		return;
	STR_COPY(r->boot, former->boot);
	r->pending = former->pending;
	r->autoprobe = former->autoprobe;
	r->had_vfs = former->had_vfs;
	r->unborn = former->unborn;
	r->cut = former->cut;
}

/* What was asked later holds. */
static int merge(void *ctx, size_t former, size_t later)
{
	struct rewrite *w = ctx;
	struct record *from = w->next.v[former], *r = rewrite_edit(w, later);

	if (!r || merge_owners(r, from))
		return -ENOMEM;
	if (!r->birth && from->birth) {
		r->dev = from->dev;
		r->birth = from->birth;
	}
	merge_wishes(r, from);
	merge_act(r, from);
	if (!r->extra) {
		r->extra = from->extra ? strdup(from->extra) : NULL;
		if (from->extra && !r->extra)
			return -ENOMEM;
	}
	r->noted = false;
	rewrite_drop(w, former);
	return 0;
}

int rewrite_merge(struct rewrite *w)
{
	return records_each_twin(&w->next, merge, w);
}
