// SPDX-License-Identifier: GPL-2.0-or-later
#include "views.h"

#include <stdlib.h>

#include "pcidevfs/key.h"
#include "pcidevfs/util.h"

void view_begin(struct views *views, struct view *view)
{
	pthread_mutex_lock(&views->lock);
	*view = (struct view){ 0 };
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

void view_at(struct views *views, struct view *view, const struct key *key)
{
	pthread_mutex_lock(&views->lock);
	view->at = key ? *key : (struct key){ 0 };
	view->at_ms = now_ms();
	pthread_mutex_unlock(&views->lock);
}

/* With the lock held. */
static bool is_late(const struct view *view, unsigned int ms)
{
	return view->at.bus != BUS_NONE && now_ms() - view->at_ms >= ms;
}

bool view_is_late(struct views *views, const struct view *view, unsigned int ms)
{
	bool late;

	pthread_mutex_lock(&views->lock);
	late = is_late(view, ms);
	pthread_mutex_unlock(&views->lock);
	return late;
}

void view_leave(struct views *views, struct view *view)
{
	pthread_mutex_lock(&views->lock);
	view->left = true;
	pthread_mutex_unlock(&views->lock);
}

bool view_hangs(struct views *views, const struct key *key, unsigned int ms)
{
	bool hangs = false;

	pthread_mutex_lock(&views->lock);
	for (const struct view *v = views->open; v && !hangs; v = v->next)
		hangs = v->left && key_eq(&v->at, key) && is_late(v, ms);
	pthread_mutex_unlock(&views->lock);
	return hangs;
}
