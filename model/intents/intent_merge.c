// SPDX-License-Identifier: GPL-2.0-or-later
/* Merges two records that turn out to be of one device, whose serial was read late. */
#include <errno.h>
#include <string.h>

#include "intents.h"
#include "persist.h"

/* Does the later record's intent end this one? */
static bool is_ended(const struct persist *k, const struct intent *later)
{
	for (size_t i = 0; persists[i]; i++)
		if (persists[i]->ends == k && persist_has(persists[i], later))
			return true;
	return false;
}

/* The record that met the device on its host driver knows the former state. */
static void merge_former(struct intent *w, const struct intent *former)
{
	if (former_is_none(w->former) && former->former_known) {
		STR_COPY(w->former, former->former);
		w->former_known = true;
	}
}

static void merge_requests(struct record *r, const struct record *former)
{
	bool claimed = r->intent.claim[0];

	for (size_t i = 0; persists[i]; i++)
		if (!persist_has(persists[i], &r->intent) && !is_ended(persists[i], &r->intent) &&
		    !(persists[i]->with_claim && claimed))
			persist_copy(persists[i], &r->intent, &former->intent);
	if (r->intent.claim[0] && !claimed) {
		STR_COPY(r->driver, former->driver);
		r->group = former->group;
	}
	if (r->intent.claim[0])
		merge_former(&r->intent, &former->intent);
	else
		persist_clear_with_claim(&r->intent);
}

static int merge_owners(struct record *r, const struct record *former)
{
	for (size_t i = 0; i < former->n_owners; i++)
		if (record_add_owner(r, &former->owners[i]))
			return -ENOMEM;
	return 0;
}

/* The later record's intents win. */
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
	r->id.cloned |= from->id.cloned;
	merge_requests(r, from);
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
