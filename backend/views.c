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

uint64_t views_now(struct views *views)
{
	uint64_t number;

	pthread_mutex_lock(&views->lock);
	number = views->last;
	pthread_mutex_unlock(&views->lock);
	return number;
}

static struct newer *find_newer(const struct view *view, const struct key *key)
{
	for (size_t i = 0; i < view->n; i++)
		if (key_eq(&view->newer[i].key, key))
			return &view->newer[i];
	return NULL;
}

bool view_is_old(const struct view *view, const struct key *key)
{
	return view->all_newer || find_newer(view, key);
}

bool view_saw_later(struct views *views, const struct view *view, const struct key *key,
		    uint64_t than)
{
	const struct newer *newer;
	bool saw;

	pthread_mutex_lock(&views->lock);
	newer = find_newer(view, key);
	saw = !view->failed && (view->all_newer > than || (newer && newer->number > than));
	pthread_mutex_unlock(&views->lock);
	return saw;
}

static void later(uint64_t *number, uint64_t than)
{
	if (*number < than)
		*number = than;
}

static void note_newer(struct view *view, const struct key *key, uint64_t number)
{
	struct newer *found = key ? find_newer(view, key) : NULL, *rows;

	if (view->all_newer >= number)
		return;
	if (found) {
		later(&found->number, number);
		return;
	}
	rows = key ? more_rows(view->newer, view->n, &view->cap, sizeof(*rows)) : NULL;
	if (rows) {
		view->newer = rows;
		rows[view->n++] = (struct newer){ *key, number };
	} else {
		later(&view->all_newer, number);
		view->failed |= key != NULL;
	}
}

void view_tell(struct views *views, const struct view *view, const struct key *key)
{
	pthread_mutex_lock(&views->lock);
	for (struct view *v = views->open; v; v = v->next)
		if (v->number < view->number)
			note_newer(v, key, view->number);
	pthread_mutex_unlock(&views->lock);
}

bool view_lists(struct views *views, const struct view *view, const struct key *key)
{
	struct newer *rows = views->listed;
	size_t i = 0;
	bool newest;

	pthread_mutex_lock(&views->lock);
	while (i < views->n_listed && !key_eq(&rows[i].key, key))
		i++;
	if (i == views->n_listed)
		rows = more_rows(rows, i, &views->cap_listed, sizeof(*rows));
	newest = !rows || i == views->n_listed || rows[i].number <= view->number;
	if (rows) {
		views->listed = rows;
		views->n_listed += i == views->n_listed;
		if (newest)
			rows[i] = (struct newer){ *key, view->number };
	}
	pthread_mutex_unlock(&views->lock);
	return newest;
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

/* Call it with the lock held. */
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

bool view_skips(struct views *views, const struct view *view, const struct key *key,
		unsigned int ms)
{
	bool skips;

	pthread_mutex_lock(&views->lock);
	skips = views->stopped || view->left;
	for (const struct view *v = views->open; v && !skips; v = v->next)
		skips = v->left && key_eq(&v->at, key) && is_late(v, ms);
	pthread_mutex_unlock(&views->lock);
	return skips;
}

void views_stop(struct views *views)
{
	pthread_mutex_lock(&views->lock);
	views->stopped = true;
	pthread_mutex_unlock(&views->lock);
}
