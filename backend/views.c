// SPDX-License-Identifier: GPL-2.0-or-later
#include "views.h"

#include <stdlib.h>

#include "pcidevfs/key.h"
#include "pcidevfs/util.h"

void view_begin(struct views *views, struct view *view)
{
	*view = (struct view){ 0 };
	pthread_mutex_lock(&views->lock);
	view->number = ++views->last;
	view->next = views->open;
	views->open = view;
	pthread_mutex_unlock(&views->lock);
}

void view_end(struct views *views, struct view *view)
{
	pthread_mutex_lock(&views->lock);
	for (struct view **at = &views->open; *at; at = &(*at)->next)
		if (*at == view) {
			*at = view->next;
			break;
		}
	pthread_mutex_unlock(&views->lock);
}

bool view_is_old(const struct view *view, const struct key *key)
{
	bool old = view->all_newer;

	for (size_t i = 0; i < view->n && !old; i++)
		old = key_eq(&view->newer[i], key);
	return old;
}

static void note_newer(struct view *view, const struct key *key)
{
	struct key *rows;

	if (key && view_is_old(view, key))
		return;
	rows = key ? more_rows(view->newer, view->n, &view->cap, sizeof(*rows)) : NULL;

	if (rows) {
		view->newer = rows;
		rows[view->n++] = *key;
	} else {
		view->all_newer = true;
		view->failed |= key != NULL;
	}
}

void view_tell(struct views *views, const struct view *view, const struct key *key)
{
	pthread_mutex_lock(&views->lock);
	for (struct view *v = views->open; v; v = v->next)
		if (v->number < view->number)
			note_newer(v, key);
	pthread_mutex_unlock(&views->lock);
}

void view_free(struct view *view)
{
	free(view->newer);
	view->newer = NULL;
}
