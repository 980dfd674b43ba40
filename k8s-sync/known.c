// SPDX-License-Identifier: GPL-2.0-or-later
/* The cluster's objects as they are known, and those that have just left. */
#include <stdlib.h>
#include <string.h>

#include "client/mirror.h"
#include "sync.h"

void sync_gone(struct sync *s, enum kind_id kind, const char *name)
{
	if (s->world.left[kind])
		json_object_object_del(s->world.left[kind], name);
}

static uint64_t version_of(json_object *o)
{
	return strtoull(js_text(o, "metadata.resourceVersion"), NULL, 10);
}

void sync_put(struct sync *s, struct store *store, enum kind_id kind, json_object *o)
{
	size_t others = 0;

	for (enum kind_id k = 0; k < KINDS; k++)
		others += k == kind ? 0 : s->stores[k].size;
	s->world.inv = mirror_lock(s->tree);
	store_put(store, &s->world, kind, o, others);
	mirror_unlock(s->tree);
}

void sync_store(struct sync *s, enum kind_id kind, json_object *o)
{
	const char *name = js_text(o, "metadata.name");
	json_object *was = object_find(&s->world, kind, name), *m = js_get(o, "metadata");

	if (!*name || !s->world.objects[kind])
		return;
	/* What the watch has passed and we do not know has gone: an answer may come after that. */
	if (version_of(o) &&
	    version_of(o) <= (was ? version_of(was) : follow_version(s->follows[kind])))
		return;
	json_object_object_del(m, "managedFields");
	sync_put(s, &s->stores[kind], kind, o);
	sync_gone(s, kind, name);
	sync_touch(s);
}

static void left_add(struct world *w, enum kind_id kind, const char *name, json_object *was)
{
	if (!kinds[kind].wanted || object_is_deleted(was))
		return;
	if (!w->left[kind])
		w->left[kind] = json_object_new_object();
	json_object_object_add(w->left[kind], name, json_object_get(was));
}

/* Our Node goes with its owner, the core Node, which may be made anew: then it has another uid, and
 * what is made with the former one is collected at once. */
static void drop(struct sync *s, enum kind_id kind, const char *name)
{
	if (kind == NODE) {
		s->node_known = false;
		s->core.at = 0;
	}
	store_drop(&s->stores[kind], name);
	sync_touch(s);
}

void sync_forget(struct sync *s, enum kind_id kind, json_object *o)
{
	const char *name = js_text(o, "metadata.name");
	json_object *was = object_find(&s->world, kind, name);

	if (!was || version_of(was) > version_of(o))
		return;
	left_add(&s->world, kind, name, was);
	drop(s, kind, name);
}

/* What left stays only as long as somebody asks for it. */
void left_keep(struct world *w, const struct action *list)
{
	json_object *were[KINDS];

	for (enum kind_id k = 0; k < KINDS; k++) {
		were[k] = w->listed[k] ? w->left[k] : NULL;
		if (were[k])
			w->left[k] = NULL;
	}
	for (; list; list = list->next) {
		json_object *o;

		if (list->act == ACT_APPLY &&
		    json_object_object_get_ex(were[list->kind], list->name, &o))
			left_add(w, list->kind, list->name, o);
	}
	for (enum kind_id k = 0; k < KINDS; k++)
		json_object_put(were[k]);
}

void sync_relisted(struct sync *s, enum kind_id kind, json_object *were)
{
	if (!were)
		return;
	json_object_object_foreach(were, name, o)
	{
		if (!object_find(&s->world, kind, name))
			left_add(&s->world, kind, name, o);
	}
}

void sync_deleted(struct sync *s, enum kind_id kind, const char *name, const char *uid)
{
	json_object *was = object_find(&s->world, kind, name);

	if (was && !strcmp(js_text(was, "metadata.uid"), uid))
		drop(s, kind, name);
}
