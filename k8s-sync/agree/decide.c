// SPDX-License-Identifier: GPL-2.0-or-later
#include "decide.h"

#include <string.h>

#include "accords.h"
#include "inventory.h"
#include "pcidevfs/key.h"
#include "pcidevfs/util.h"

/* ---- actions */

struct action *action_add(struct action **list, enum act act, enum kind_id kind, const char *name,
			  json_object *body)
{
	struct action *a = calloc(1, sizeof(*a));

	while (*list)
		list = &(*list)->next;
	if (!a) {
		json_object_put(body);
		return NULL;
	}
	*a = (struct action){ .act = act, .kind = kind, .body = body };
	STR_COPY(a->name, name);
	*list = a;
	return a;
}

void action_event(struct action **list, enum kind_id kind, json_object *o, const char *reason,
		  const char *sentence)
{
	struct action *a =
		action_add(list, ACT_EVENT, kind, js_text(o, "metadata.name"), json_object_get(o));

	if (a) {
		a->reason = reason;
		a->lines = strdup(sentence);
	}
}

void actions_free(struct action *a)
{
	for (struct action *next; a; a = next) {
		next = a->next;
		json_object_put(a->body);
		free(a->lines);
		free(a);
	}
}

/* ---- objects made of devices */

/* Notes of agreement are written by accords, and stay otherwise. */
static void keep_notes(json_object *want, json_object *was)
{
	json_object *m = js_get(was, "metadata.annotations");

	if (!json_object_is_type(m, json_type_object))
		return;
	json_object_object_foreach(m, key, value)
	{
		if (!strncmp(key, NOTE_PREFIX, strlen(NOTE_PREFIX)))
			js_set_meta(want, "annotations", key, json_object_get_string(value));
	}
}

/* The uid keeps an apply from making an object anew that somebody has just deleted. */
static void name_same(json_object *want, json_object *was)
{
	const char *uid = js_text(was, "metadata.uid");

	if (*uid)
		js_set(want, "metadata.uid", json_object_new_string(uid));
}

json_object *want_main(const struct at *at, const struct kind *k, const char *name)
{
	json_object *want = object_new(k, name);

	name_same(want, at->was);
	object_fill(want, k, LABEL, at);
	object_fill(want, k, ANNOTATION, at);
	keep_notes(want, at->was);
	object_own(want, "v1", "Node", at->w->node, at->w->node_uid);
	if (k->wanted && !at->was) {
		js_set(want, "spec", json_object_new_object());
		object_fill(want, k, SPEC, at);
	}
	return want;
}

/* An annotation that a table names and that shall be gone. */
static bool has_more(const struct kind *k, json_object *was, json_object *want)
{
	for (size_t i = 0; i < k->n_fields; i++) {
		const struct field *f = &k->fields[i];
		const char *part = f->part == LABEL ? "labels" : "annotations";

		if (f->part <= ANNOTATION && js_meta(was, part, f->name) &&
		    !js_meta(want, part, f->name))
			return true;
	}
	return false;
}

static void ensure_main(const struct at *at, enum kind_id id, const char *name,
			struct action **list)
{
	json_object *want = want_main(at, &kinds[id], name);

	if (!at->was || !js_covers(at->was, want) || has_more(&kinds[id], at->was, want))
		action_add(list, ACT_APPLY, id, name, want);
	else
		json_object_put(want);
}

/* ---- status */

/* A field of the status that is gone, of the table's own. */
static bool status_has_more(const struct kind *k, json_object *was, json_object *want)
{
	for (size_t i = 0; i < k->n_fields; i++) {
		char path[128];

		snprintf(path, sizeof(path), "status.%s", k->fields[i].name);
		if (k->fields[i].part == STATUS && js_get(was, path) && !js_get(want, path))
			return true;
	}
	return false;
}

static json_object *condition_of(json_object *o, const char *type)
{
	json_object *all = js_get(o, "status.conditions");

	if (!json_object_is_type(all, json_type_array))
		return NULL;
	for (size_t i = 0; i < json_object_array_length(all); i++) {
		json_object *c = json_object_array_get_idx(all, i);

		if (!strcmp(js_text(c, "type"), type))
			return c;
	}
	return NULL;
}

/* The time is that of the last change of its status word. */
static json_object *condition_new(const struct world *w, json_object *was, const char *type,
				  const struct standing *s)
{
	json_object *c = json_object_new_object(), *old = condition_of(was, type);
	const char *status = s->holds ? "True" : "False", *time = w->now;

	if (old && !strcmp(js_text(old, "status"), status))
		time = js_text(old, "lastTransitionTime");
	js_set(c, "type", json_object_new_string(type));
	js_set(c, "status", json_object_new_string(status));
	js_set(c, "reason", json_object_new_string(s->reason));
	js_set(c, "message", json_object_new_string(s->message));
	js_set(c, "lastTransitionTime", json_object_new_string(time));
	return c;
}

static void add_condition(json_object *want, const struct at *at, const struct standing *s)
{
	json_object *all;

	if (at->w->no_conditions || !s->type)
		return;
	all = json_object_new_array();
	json_object_array_add(all, condition_new(at->w, at->was, s->type, s));
	js_set(want, "status.conditions", all);
}

static json_object *want_status(const struct at *at, enum kind_id id, const char *name,
				const struct standing *s)
{
	json_object *want = object_new(&kinds[id], name);

	name_same(want, at->was);
	js_set(want, "status", json_object_new_object());
	if (at->dev)
		object_fill(want, &kinds[id], STATUS, at);
	add_condition(want, at, s);
	return want;
}

void ensure_status(const struct at *at, enum kind_id id, const struct standing *s,
		   struct action **list)
{
	const char *name = js_text(at->was, "metadata.name");
	json_object *want = want_status(at, id, name, s);
	bool stale =
		!s->type && (condition_of(at->was, "Released") || condition_of(at->was, "Applied"));

	if (!js_covers(at->was, want) || status_has_more(&kinds[id], at->was, want) || stale)
		action_add(list, ACT_STATUS, id, name, want);
	else
		json_object_put(want);
}

/* ---- all */

static void ensure(const struct world *w, enum kind_id id, const struct inv_dev *d,
		   struct action **list)
{
	char name[OBJECT_NAME];
	struct at at = { .w = w, .dev = d };
	struct standing s = { 0 };

	object_name(w, d, name);
	at.was = object_find(w, id, name);
	if (object_is_deleted(at.was))
		return;
	ensure_main(&at, id, name, list);
	if (at.was) {
		accords_standing(&at, id, &s);
		ensure_status(&at, id, &s, list);
	}
}

/* The reverse of object_name(). */
static const struct inv_dev *device_named(const struct world *w, const char *name)
{
	size_t node = strlen(w->node) + 1, n = strlen(name), domain;
	char id[KEY_NAME];

	if (n < node + 9 || n - node > 13)
		return NULL;
	domain = n - node - 5;
	name += node;
	snprintf(id, sizeof(id), "%.*s:%.2s:%.2s.%s", (int)domain, name, name + domain,
		 name + domain + 2, name + domain + 4);
	return inventory_find(w->inv, id);
}

static bool has_note(json_object *o)
{
	json_object *m = js_get(o, "metadata.annotations");

	if (!json_object_is_type(m, json_type_object))
		return false;
	json_object_object_foreach(m, key, value)
	{
		(void)value;
		if (!strncmp(key, NOTE_PREFIX, strlen(NOTE_PREFIX)))
			return true;
	}
	return false;
}

json_object *delete_body(json_object *o)
{
	json_object *body = json_object_new_object();

	js_set(body, "apiVersion", json_object_new_string("v1"));
	js_set(body, "kind", json_object_new_string("DeleteOptions"));
	js_set(body, "preconditions.uid", json_object_new_string(js_text(o, "metadata.uid")));
	js_set(body, "preconditions.resourceVersion",
	       json_object_new_string(js_text(o, "metadata.resourceVersion")));
	return body;
}

/* An object whose device is gone goes too, unless something was agreed about it: then it is
 * the only one who knows that. */
static void drop_stale(const struct world *w, enum kind_id id, struct action **list)
{
	if (!w->objects[id])
		return;
	json_object_object_foreach(w->objects[id], name, o)
	{
		const struct inv_dev *d = device_named(w, name);

		if ((!d && has_note(o)) || (d && kinds[id].wanted(w, d)) || object_is_deleted(o))
			continue;
		action_add(list, ACT_DELETE, id, name, delete_body(o));
	}
}

static bool all_listed(const struct world *w)
{
	for (size_t id = 0; id < KINDS; id++)
		if (!w->listed[id])
			return false;
	return true;
}

struct action *decide(const struct world *w)
{
	struct action *list = NULL;

	for (enum kind_id id = 0; id < KINDS; id++) {
		if (!kinds[id].wanted || !w->listed[id])
			continue;
		for (size_t i = 0; i < w->inv->n; i++)
			if (kinds[id].wanted(w, w->inv->v[i]))
				ensure(w, id, w->inv->v[i], &list);
		drop_stale(w, id, &list);
	}
	if (all_listed(w))
		accords_decide(w, &list);
	return list;
}

json_object *decide_print(const struct world *w)
{
	json_object *all = json_object_new_array();

	for (enum kind_id id = 0; id < KINDS; id++)
		for (size_t i = 0; i < w->inv->n; i++) {
			const struct at at = { .w = w, .dev = w->inv->v[i] };
			char name[OBJECT_NAME];
			json_object *o;

			if (!(kinds[id].wanted ? kinds[id].wanted(w, at.dev)
					       : accords_make(w, id, at.dev)))
				continue;
			object_name(w, at.dev, name);
			o = want_main(&at, &kinds[id], name);
			if (!kinds[id].wanted)
				object_fill(o, &kinds[id], SPEC, &at);
			object_fill(o, &kinds[id], STATUS, &at);
			json_object_array_add(all, o);
		}
	return all;
}
