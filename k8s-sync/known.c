// SPDX-License-Identifier: GPL-2.0-or-later
/* The cluster's objects as they are known, and those that have just left. */
#include <stdlib.h>
#include <string.h>

#include "client/mirror.h"
#include "k8s-sync/agree/agree.h"
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
	writers_note(o);
	node_note_owner(s, kind, o);
	s->world.inv = mirror_lock(s->tree);
	store_put(store, &s->world, kind, o, others);
	mirror_unlock(s->tree);
}

static void left_add(struct world *w, enum kind_id kind, const char *name, json_object *was)
{
	if (kinds[kind].wanted ? object_is_deleted(was) : !claim_is_missed(w, kind, was))
		return;
	if (!w->left[kind])
		w->left[kind] = json_object_new_object();
	json_object_object_add(w->left[kind], name, json_object_get(was));
}

void sync_store(struct sync *s, enum kind_id kind, json_object *o)
{
	const char *name = js_text(o, "metadata.name");
	json_object *was = object_find(&s->world, kind, name);

	if (!*name || !s->world.objects[kind])
		return;
	/* What the watch has passed and we do not know has gone: an answer may come after that. */
	if (version_of(o) &&
	    version_of(o) <= (was ? version_of(was) : roll_version(s->rolls[kind]))) {
		if (!was && !kinds[kind].wanted)
			left_add(&s->world, kind, name, o);
		return;
	}
	sync_put(s, &s->stores[kind], kind, o);
	sync_gone(s, kind, name);
	sync_touch(s);
}

/* Objects go with their owner, the core Node, which may be made anew: then it has another uid, and
 * what is made with the former one is collected at once. A claim goes after its device's object. */
static void lose(struct sync *s, enum kind_id kind, const char *name, json_object *was)
{
	left_add(&s->world, kind, name, was);
	if ((kind == NODE || (kinds[kind].wanted && s->node_uid[0])) &&
	    !writes_deletes(s->writes, kind, name))
		node_ask(s);
}

static void drop(struct sync *s, enum kind_id kind, const char *name)
{
	store_drop(&s->stores[kind], name);
	sync_touch(s);
}

void sync_forget(struct sync *s, enum kind_id kind, json_object *o)
{
	const char *name = js_text(o, "metadata.name");
	json_object *was = object_find(&s->world, kind, name);

	if (!was || version_of(was) > version_of(o))
		return;
	lose(s, kind, name, was);
	drop(s, kind, name);
}

/* What left stays only as long as somebody asks for it, or misses it. */
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
	for (enum kind_id k = 0; k < KINDS; k++) {
		if (were[k] && !kinds[k].wanted) {
			json_object_object_foreach(were[k], name, o)
			{
				left_add(w, k, name, o);
			}
		}
		json_object_put(were[k]);
	}
}

void sync_relisted(struct sync *s, enum kind_id kind, json_object *were)
{
	if (!were)
		return;
	json_object_object_foreach(were, name, o)
	{
		if (!object_find(&s->world, kind, name))
			lose(s, kind, name, o);
	}
}

void sync_deleted(struct sync *s, enum kind_id kind, const char *name, const char *uid)
{
	json_object *was = object_find(&s->world, kind, name);

	if (was && !strcmp(js_text(was, "metadata.uid"), uid))
		drop(s, kind, name);
}
