// SPDX-License-Identifier: GPL-2.0-or-later
/* A change of the records that nobody sees yet. */
#include "intents.h"

struct record *rewrite_edit(struct rewrite *w, size_t i)
{
	struct record *copy;

	if (w->next.v[i]->fresh)
		return w->next.v[i];
	copy = record_copy(w->next.v[i]);
	if (copy)
		w->next.v[i] = copy;
	return copy;
}

void rewrite_drop(struct rewrite *w, size_t i)
{
	if (w->next.v[i]->fresh)
		record_free(w->next.v[i]);
	w->next.v[i] = NULL;
}

struct record *rewrite_add(struct rewrite *w)
{
	struct record *r = record_new();

	if (r && records_add(&w->next, r)) {
		record_free(r);
		return NULL;
	}
	if (r) {
		r->noted = true;
		r->in = UINT32_MAX;
	}
	return r;
}
