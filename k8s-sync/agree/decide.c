// SPDX-License-Identifier: GPL-2.0-or-later
#include "decide.h"

#include <string.h>

#include "agree.h"
#include "inventory.h"
#include "pcidevfs/util.h"

/* ---- actions */

struct action *action_add(struct actions *list, enum action_kind act, enum kind_id kind,
			  const char *name, json_object *body)
{
	struct action *a = calloc(1, sizeof(*a));

	if (!a) {
		json_object_put(body);
		return NULL;
	}
	*a = (struct action){ .act = act, .kind = kind, .body = body };
	STR_COPY(a->name, name);
	actions_append(list, a);
	return a;
}

void event_add(struct actions *list, enum action_kind act, enum kind_id kind, json_object *about,
	       const char *reason, const char *sentence)
{
	struct action *a = action_add(list, act, kind, js_text(about, "metadata.name"),
				      json_object_get(about));

	if (!a)
		return;
	a->reason = reason;
	a->lines = strdup(sentence);
}

void actions_append(struct actions *list, struct action *a)
{
	a->next = NULL;
	*(list->last ? &list->last->next : &list->first) = a;
	list->last = a;
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

static bool is_annotation(const struct kind *k, const char *name)
{
	for (size_t i = 0; i < k->n_fields; i++)
		if (k->fields[i].part == ANNOTATION && !strcmp(k->fields[i].name, name))
			return true;
	return false;
}

/* Notes of agreement are written by notes.c, and stay otherwise. */
static void keep_notes(json_object *want, const struct kind *k, json_object *was)
{
	json_object *m = js_get(was, "metadata.annotations");

	if (!json_object_is_type(m, json_type_object))
		return;
	json_object_object_foreach(m, key, value)
	{
		if (!strncmp(key, NOTE_PREFIX, strlen(NOTE_PREFIX)) && !is_annotation(k, key))
			js_set_meta(want, "annotations", key, json_object_get_string(value));
	}
}

/* Its first owner is the object by which Harvester's controller finds a claim's device. */
static void add_owners(json_object *want, const struct at *at, const struct kind *k)
{
	unsigned int owners = k->owners && at->dev ? k->owners(at->dev) : 0;

	for (enum kind_id id = 0; id < KINDS; id++) {
		json_object *o = owners & 1U << id ? object_of(at->w, id, at->dev) : NULL;

		object_own(want, GROUP_VERSION, kinds[id].kind, js_text(o, "metadata.name"),
			   js_text(o, "metadata.uid"));
	}
	object_own(want, "v1", "Node", at->w->node, at->w->node_uid);
}

json_object *want_main(const struct at *at, enum kind_id id, const char *name)
{
	const struct kind *k = &kinds[id];
	json_object *want = object_new(k, name, at->was);

	if (k->n_fields)
		js_set_meta(want, "labels", "nodename", at->w->node);
	object_fill(want, k, LABEL, at);
	object_fill(want, k, ANNOTATION, at);
	keep_notes(want, k, at->was);
	add_owners(want, at, k);
	if (k->empty_spec)
		js_set(want, "spec", json_object_new_object());
	return want;
}

/* An apply takes out what we alone own. What another manager wrote as well, or wrote alone, goes by
 * a merge patch, as soon as the object has all that it shall have. */
static void strip(const struct at *at, enum kind_id id, enum action_kind act, const char *path,
		  json_object *nulls, struct actions *list)
{
	json_object *patch;

	if (!nulls)
		return;
	patch = json_object_new_object();
	js_set(patch, path, nulls);
	js_set_text(patch, "metadata.resourceVersion",
		    js_text(at->was, "metadata.resourceVersion"));
	js_set_text(patch, "metadata.uid", js_text(at->was, "metadata.uid"));
	action_add(list, act, id, js_text(at->was, "metadata.name"), patch);
}

/* The labels and annotations that the table names and that shall be gone. */
static json_object *meta_surplus(const struct kind *k, json_object *was, json_object *want)
{
	json_object *nulls = NULL;

	for (size_t i = 0; i < k->n_fields; i++) {
		const struct field *f = &k->fields[i];
		const char *part = f->part == LABEL ? "labels" : "annotations";

		if (f->part > ANNOTATION || !js_meta(was, part, f->name) ||
		    js_meta(want, part, f->name))
			continue;
		nulls = nulls ?: json_object_new_object();
		if (!js_get(nulls, part))
			js_set(nulls, part, json_object_new_object());
		json_object_object_add(js_get(nulls, part), f->name, NULL);
	}
	return nulls;
}

json_object *want_new(const struct at *at, enum kind_id id, const char *name)
{
	json_object *want = want_main(at, id, name);

	object_fill(want, &kinds[id], SPEC, at);
	values_fill(want, id, at->dev);
	return want;
}

static void ensure_main(const struct at *at, enum kind_id id, const char *name,
			struct actions *list)
{
	_json_ json_object *want = want_main(at, id, name);

	if (!object_find(at->w, id, name) || !js_covers(at->was, want)) {
		action_add(list, ACT_APPLY, id, name, json_object_get(want));
		return;
	}
	strip(at, id, ACT_PATCH, "metadata", meta_surplus(&kinds[id], at->was, want), list);
}

/* Not applied: what an apply has set, and the next one does not, goes. A field that is there may be
 * a user's, who was faster than we; one that is not comes later where its value was not known. */
static void ensure_spec(const struct at *at, enum kind_id id, const char *name,
			struct actions *list)
{
	_json_ json_object *want = json_object_new_object(), *patch = patch_of(at->was);
	json_object *was = js_get(at->was, "spec"), *lacks = json_object_new_object();
	bool all = !object_has_spec(id, at->was);

	js_set(want, "spec", json_object_new_object());
	object_fill(want, &kinds[id], SPEC, at);
	if (all && json_object_object_length(js_get(want, "spec")))
		values_fill(want, id, at->dev);
	json_object_object_foreach(js_get(want, "spec"), key, value)
	{
		json_object *has = js_get(was, key);

		if (!has || (all && json_object_is_type(has, json_type_string) &&
			     !json_object_get_string_len(has)))
			json_object_object_add(lacks, key, json_object_get(value));
	}
	js_set(patch, "spec", lacks);
	if (json_object_object_length(lacks))
		action_add(list, ACT_PATCH, id, name, json_object_get(patch));
}

/* ---- status */

/* What of the status shall be gone, for a merge patch: the table's fields are ours alone, to the
 * last member. */
static json_object *status_surplus(const struct kind *k, json_object *was, json_object *want)
{
	json_object *has = js_get(was, "status"), *wants = js_get(want, "status");
	json_object *nulls = NULL;

	for (size_t i = 0; i < k->n_fields; i++) {
		const char *field = k->fields[i].name;
		json_object *value = json_object_object_get(has, field), *inner;

		if (k->fields[i].part != STATUS || !value)
			continue;
		inner = js_surplus(value, json_object_object_get(wants, field));
		if (!inner && json_object_object_get(wants, field))
			continue;
		nulls = nulls ?: json_object_new_object();
		json_object_object_add(nulls, field, inner);
	}
	if (conditions_stale(was, want)) {
		nulls = nulls ?: json_object_new_object();
		json_object_object_add(nulls, "conditions", conditions_left(was, want));
	}
	return nulls;
}

static json_object *want_status(const struct at *at, enum kind_id id, const char *name,
				const struct standing *s)
{
	json_object *want = object_new(&kinds[id], name, at->was);

	object_fill(want, &kinds[id], STATUS, at);
	if (kind_tells(at->w, id))
		conditions_add(want, at, id, s);
	return want;
}

void ensure_status(const struct at *at, enum kind_id id, const struct standing *s,
		   struct actions *list)
{
	const char *name = js_text(at->was, "metadata.name");
	_json_ json_object *want = want_status(at, id, name, s);

	if (!js_covers(at->was, want))
		action_add(list, ACT_STATUS, id, name, json_object_get(want));
	else
		strip(at, id, ACT_STRIP, "status", status_surplus(&kinds[id], at->was, want), list);
}

/* ---- all */

static void ensure(const struct world *w, enum kind_id id, const struct inv_dev *d,
		   const char *name, struct actions *list)
{
	struct at at = { .w = w, .dev = d, .was = object_find(w, id, name) };
	struct standing s = { 0 };

	if (object_is_deleted(at.was))
		return;
	/* One that has just left is written with its uid, so that what is deleted is not made, and
	 * what somebody has taken the label from keeps its notes. */
	if (!at.was)
		at.was = json_object_object_get(w->left[id], name);
	ensure_main(&at, id, name, list);
	if (!object_find(w, id, name))
		return;
	ensure_spec(&at, id, name, list);
	if (values_known(w, id)) {
		values_standing(&at, id, &s);
		ensure_status(&at, id, &s, list);
	}
}

json_object *delete_body(json_object *o)
{
	json_object *body = json_object_new_object();

	js_set_text(body, "apiVersion", "v1");
	js_set_text(body, "kind", "DeleteOptions");
	js_set_text(body, "preconditions.uid", js_text(o, "metadata.uid"));
	js_set_text(body, "preconditions.resourceVersion", js_text(o, "metadata.resourceVersion"));
	return body;
}

/* The core Node is another one than that which owns it: it would go with that. The other owners,
 * objects of devices, stay. */
static void move(const struct world *w, enum kind_id id, json_object *o, struct actions *list)
{
	json_object *all = js_get(o, "metadata.ownerReferences"), *patch, *owners;

	if (!*w->node_uid || !strcmp(js_text(js_find(all, "kind", "Node"), "uid"), w->node_uid))
		return;
	patch = patch_of(o);
	owners = json_object_new_array();
	js_set(patch, "metadata.ownerReferences", owners);
	for (size_t i = 0; i < js_length(all); i++) {
		json_object *owner = json_object_array_get_idx(all, i);

		if (strcmp(js_text(owner, "kind"), "Node"))
			json_object_array_add(owners, json_object_get(owner));
	}
	object_own(patch, "v1", "Node", w->node, w->node_uid);
	action_add(list, ACT_PATCH, id, js_text(o, "metadata.name"), patch);
}

/* Its device is gone, and it is the only one who knows what was agreed or asked. */
static void keep(const struct world *w, enum kind_id id, json_object *o, struct actions *list)
{
	const struct at at = { .w = w, .was = o };
	struct standing s = { .type = "Present", .reason = "NoDevice" };

	move(w, id, o, list);

	snprintf(s.message, sizeof(s.message),
		 "node %s has no such device now; the object stays, as it tells what was agreed",
		 w->node);
	ensure_status(&at, id, &s, list);
}

static bool is_here(const struct world *w, json_object *o)
{
	static const char *const paths[] = { "spec.address", "status.address", "spec.gpuAddress" };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (inventory_find(w->inv, js_text(o, paths[i])))
			return true;
	return false;
}

/* Objects that no device has made. */
static void drop_stale(const struct world *w, enum kind_id id, json_object *made,
		       struct actions *list)
{
	json_object_object_foreach(w->objects[id], name, o)
	{
		if (object_is_deleted(o) || json_object_object_get_ex(made, name, NULL))
			continue;
		if (values_keep(w, id, o) && !is_here(w, o) && !claims_forget(w, id, o, list))
			keep(w, id, o, list);
		else
			action_add(list, ACT_DELETE, id, name, delete_body(o));
	}
}

static void ensure_all(const struct world *w, enum kind_id id, struct actions *list)
{
	_json_ json_object *made = json_object_new_object();

	for (size_t i = 0; i < w->inv->n; i++) {
		const struct inv_dev *d = w->inv->v[i];
		char name[OBJECT_NAME];

		if (!kinds[id].wanted(w, d) || !object_name(w, id, d, name))
			continue;
		json_object_object_add(made, name, NULL);
		ensure(w, id, d, name, list);
	}
	drop_stale(w, id, made, list);
}

bool decide_ready(const struct world *w)
{
	for (enum kind_id id = 0; id < KINDS; id++)
		if (kinds[id].api && !w->listed[id])
			return false; /* it is not known what */
	return true;
}

struct action *decide(const struct world *given)
{
	struct world w = *given;
	struct actions list = { 0 };

	if (!decide_ready(given))
		return NULL;
	w.odd = claims_odd(&w);
	w.uses = conditions_uses(&w);
	for (enum kind_id id = 0; id < KINDS; id++)
		if (kinds[id].wanted && w.listed[id])
			ensure_all(&w, id, &list);
		else if (kinds[id].of_node && w.listed[id])
			ensure(&w, id, NULL, w.node, &list);
	values_decide(&w, &list);
	lines_keep(&w, &list);
	json_object_put(w.odd);
	json_object_put(w.uses);
	return list.first;
}

static bool is_made(const struct world *w, enum kind_id id, const struct inv_dev *d)
{
	return kinds[id].wanted ? kinds[id].wanted(w, d) : claims_make(w, id, d);
}

static json_object *whole(const struct world *w, enum kind_id id, const struct inv_dev *d,
			  const char *name)
{
	const struct at at = { .w = w, .dev = d };
	json_object *o = want_new(&at, id, name);

	object_fill(o, &kinds[id], STATUS, &at);
	return o;
}

json_object *decide_print(const struct world *w)
{
	json_object *all = json_object_new_array();
	char name[OBJECT_NAME];

	for (enum kind_id id = 0; id < KINDS; id++) {
		if (kinds[id].of_node)
			json_object_array_add(all, whole(w, id, NULL, w->node));
		for (size_t i = 0; i < w->inv->n; i++)
			if (is_made(w, id, w->inv->v[i]) && object_name(w, id, w->inv->v[i], name))
				json_object_array_add(all, whole(w, id, w->inv->v[i], name));
	}
	return all;
}
