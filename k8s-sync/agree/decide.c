// SPDX-License-Identifier: GPL-2.0-or-later
#include "decide.h"

#include <string.h>

#include "agree.h"
#include "inventory.h"
#include "pcidevfs/util.h"
#include "words.h"

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

/* Notes of agreement are written by values.c, and stay otherwise. */
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
	keep_notes(want, at->was);
	add_owners(want, at, k);
	if (k->empty_spec)
		js_set(want, "spec", json_object_new_object());
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
	json_object *want = want_main(at, id, name);

	if (!object_find(at->w, id, name) || !js_covers(at->was, want) ||
	    has_more(&kinds[id], at->was, want))
		action_add(list, ACT_APPLY, id, name, want);
	else
		json_object_put(want);
}

/* Not applied: what an apply has set, and the next one does not, goes. A field that is there may be
 * a user's. */
static void ensure_spec(const struct at *at, enum kind_id id, const char *name,
			struct actions *list)
{
	_json_ json_object *want = json_object_new_object();
	json_object *patch;

	object_fill(want, &kinds[id], SPEC, at);
	if (!js_get(want, "spec") || object_has_spec(id, at->was))
		return;
	values_fill(want, id, at->dev);
	patch = patch_of(at->was);
	js_set(patch, "spec", json_object_get(js_get(want, "spec")));
	action_add(list, ACT_PATCH, id, name, patch);
}

/* ---- status */

/* The table's fields are ours alone, to the last member. */
static bool status_differs(const struct kind *k, json_object *was, json_object *want)
{
	for (size_t i = 0; i < k->n_fields; i++) {
		char path[128];

		snprintf(path, sizeof(path), "status.%s", k->fields[i].name);
		if (k->fields[i].part == STATUS &&
		    !json_object_equal(js_get(was, path), js_get(want, path)))
			return true;
	}
	return false;
}

static json_object *condition_of(json_object *o, const char *type)
{
	return js_find(js_get(o, "status.conditions"), "type", type);
}

static bool has_condition(json_object *o)
{
	return condition_of(o, "Released") || condition_of(o, "Applied") ||
	       condition_of(o, "Present");
}

/* The time is that of the last change of its status word. */
static void add_condition(json_object *want, const struct at *at, const struct standing *s)
{
	const char *status = s->holds ? "True" : "False", *time = at->w->now;
	json_object *all, *c, *old;
	_free_ char *message = NULL;

	if (at->w->no_conditions || !s->type)
		return;
	message = words_for_cluster(s->message);
	old = condition_of(at->was, s->type);
	if (old && !strcmp(js_text(old, "status"), status))
		time = js_text(old, "lastTransitionTime");
	c = json_object_new_object();
	js_set_text(c, "type", s->type);
	js_set_text(c, "status", status);
	js_set_text(c, "reason", s->reason);
	js_set_text(c, "message", message ?: s->message);
	js_set_text(c, "lastTransitionTime", time);
	all = json_object_new_array();
	json_object_array_add(all, c);
	js_set(want, "status.conditions", all);
}

static json_object *want_status(const struct at *at, enum kind_id id, const char *name,
				const struct standing *s)
{
	json_object *want = object_new(&kinds[id], name, at->was);

	object_fill(want, &kinds[id], STATUS, at);
	add_condition(want, at, s);
	return want;
}

void ensure_status(const struct at *at, enum kind_id id, const struct standing *s,
		   struct actions *list)
{
	const char *name = js_text(at->was, "metadata.name");
	json_object *want = want_status(at, id, name, s);
	bool stale = !s->type && has_condition(at->was);

	if (!js_covers(at->was, want) || status_differs(&kinds[id], at->was, want) || stale)
		action_add(list, ACT_STATUS, id, name, want);
	else
		json_object_put(want);
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

/* Its device is gone, and it is the only one who knows what was agreed or asked. */
static void keep(const struct world *w, enum kind_id id, json_object *o, struct actions *list)
{
	const struct at at = { .w = w, .was = o };
	struct standing s = { .type = "Present", .reason = "NoDevice" };

	snprintf(s.message, sizeof(s.message),
		 "node %s has no such device now; the object stays, as it tells what was agreed",
		 w->node);
	ensure_status(&at, id, &s, list);
}

static bool is_here(const struct world *w, json_object *o)
{
	const char *address = js_text(o, "spec.address");

	return inventory_find(w->inv, *address ? address : js_text(o, "status.address"));
}

/* Objects that no device has made. */
static void drop_stale(const struct world *w, enum kind_id id, json_object *made,
		       struct actions *list)
{
	json_object_object_foreach(w->objects[id], name, o)
	{
		if (object_is_deleted(o) || json_object_object_get_ex(made, name, NULL))
			continue;
		if (values_keep(id, o) && !is_here(w, o))
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
	for (enum kind_id id = 0; id < KINDS; id++)
		if (kinds[id].wanted && w.listed[id])
			ensure_all(&w, id, &list);
		else if (kinds[id].of_node && w.listed[id])
			ensure(&w, id, NULL, w.node, &list);
	values_decide(&w, &list);
	lines_keep(&w, &list);
	json_object_put(w.odd);
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
			if (is_made(w, id, w->inv->v[i]) &&
			    object_name(w, id, w->inv->v[i], name))
				json_object_array_add(all, whole(w, id, w->inv->v[i], name));
	}
	return all;
}
