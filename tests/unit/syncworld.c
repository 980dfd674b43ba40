// SPDX-License-Identifier: GPL-2.0-or-later
#include "syncworld.h"

#include <stdlib.h>
#include <string.h>

#include "pcidevfs/util.h"
#include "test.h"

static const char *const acts[] = { "apply", "status", "strip", "create", "patch", "delete",
				    "event", "ctl",    "forget", "open",   "late" };

void syncworld_init(struct syncworld *s)
{
	*s = (struct syncworld){ .w = { .node = "node1", .node_uid = "N", .now = "NOW" } };
	s->w.inv = &s->inv;
	for (enum kind_id k = 0; k < KINDS; k++) {
		s->w.objects[k] = json_object_new_object();
		s->w.listed[k] = true;
	}
	syncworld_object(
		s, NODE,
		"{\"apiVersion\":\"" GROUP_VERSION
		"\",\"kind\":\"Node\",\"metadata\":{\"name\":\"node1\",\"ownerReferences\":[{"
		"\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"node1\","
		"\"uid\":\"N\"}]},\"spec\":{}}");
}

void syncworld_free(struct syncworld *s)
{
	inventory_free(&s->inv);
	for (enum kind_id k = 0; k < KINDS; k++)
		json_object_put(s->w.objects[k]);
}

void syncworld_device(struct syncworld *s, const char *id, const char *pairs)
{
	char *text = strdup(pairs);

	CHECK_EQ(inventory_take(&s->inv, id, text), 0);
	free(text);
}

void syncworld_object(struct syncworld *s, enum kind_id kind, const char *text)
{
	json_object *o = json_tokener_parse(text);

	CHECK(o != NULL);
	json_object_object_add(s->w.objects[kind], js_text(o, "metadata.name"), o);
}

static void print(const struct action *a, struct out *o)
{
	if (a->act == ACT_OPEN)
		return;
	if (a->act == ACT_EVENT || a->act == ACT_LATE) {
		out_printf(o, "%s %s/%s %s: %s\n", acts[a->act], kinds[a->kind].plural, a->name,
			   a->reason, a->lines);
		return;
	}
	out_printf(o, "%s %s/%s ", acts[a->act], kinds[a->kind].plural, a->name);
	if (a->act == ACT_CTL)
		out_printf(o, "%s", a->lines);
	else if (a->act == ACT_FORGET)
		out_printf(o, "%s\n", a->about);
	else
		out_printf(o, "%s\n",
			   json_object_to_json_string_ext(a->body,
							  JSON_C_TO_STRING_PLAIN |
								  JSON_C_TO_STRING_NOSLASHESCAPE));
	if (a->reason)
		out_printf(o, "event %s/%s %s: %s\n", kinds[a->kind].plural, a->name, a->reason,
			   a->lines);
}

char *syncworld_decide(const struct syncworld *s)
{
	struct action *list = decide(&s->w);
	struct out o = { 0 };

	for (const struct action *a = list; a; a = a->next)
		print(a, &o);
	actions_free(list);
	out_put(&o, "", 1);
	return o.data;
}

/* ---- a small API server */

/* Lists of objects are maps: here of owners, by kind. */
static void merge_owners(json_object *to, json_object *from)
{
	for (size_t i = 0; i < json_object_array_length(from); i++) {
		json_object *owner = json_object_array_get_idx(from, i);
		size_t n = 0;

		while (n < json_object_array_length(to) &&
		       strcmp(js_text(json_object_array_get_idx(to, n), "kind"),
			      js_text(owner, "kind")))
			n++;
		json_object_array_put_idx(to, n, json_object_get(owner));
	}
}

static void merge(json_object *to, json_object *from)
{
	json_object_object_foreach(from, key, value)
	{
		json_object *have;

		if (!strcmp(key, "ownerReferences") && json_object_object_get_ex(to, key, &have))
			merge_owners(have, value);
		else if (!value)
			json_object_object_del(to, key);
		else if (json_object_is_type(value, json_type_object) &&
			 json_object_object_get_ex(to, key, &have) &&
			 json_object_is_type(have, json_type_object))
			merge(have, value);
		else
			json_object_object_add(to, key, json_object_get(value));
	}
}

/* An apply drops what it had set before: all of the status, and of the rest only notes, here. What
 * others have set as well it cannot drop. */
static void drop_applied(const struct syncworld *s, json_object *o, enum action_kind act)
{
	json_object *m = js_get(o, "metadata.annotations");

	if (act == ACT_STATUS && !s->others)
		json_object_object_del(o, "status");
	if (act != ACT_APPLY || !m)
		return;
	json_object_object_foreach(m, key, value)
	{
		if (!strncmp(key, NOTE_PREFIX, strlen(NOTE_PREFIX)))
			json_object_object_del(m, key);
	}
}

void syncworld_carry_out(struct syncworld *s, const struct action *a)
{
	json_object *o = object_find(&s->w, a->kind, a->name), *copy = NULL;

	if (a->act == ACT_DELETE) {
		json_object_object_del(s->w.objects[a->kind], a->name);
		return;
	}
	CHECK_EQ(json_object_deep_copy(a->body, &copy, NULL), 0);
	if (!o) {
		js_set(copy, "metadata.uid", json_object_new_string("U"));
		json_object_object_add(s->w.objects[a->kind], a->name, copy);
		return;
	}
	drop_applied(s, o, a->act);
	merge(o, copy);
	json_object_put(copy);
}

char *syncworld_settle(struct syncworld *s)
{
	struct out o = { 0 };
	bool more = true;

	for (unsigned int n = 0; more; n++) {
		struct action *list = decide(&s->w);

		if (n >= 19)
			for (const struct action *a = list; a; a = a->next)
				print(a, &o);
		CHECK_STR(n < 20 ? "" : out_text(&o), "");
		more = false;
		out_free(&o);
		o = (struct out){ 0 };
		for (const struct action *a = list; a; a = a->next) {
			if (a->act == ACT_CTL)
				print(a, &o);
			if (a->act == ACT_FORGET)
				s->w.verdicts = NULL;
			if (a->act >= ACT_EVENT)
				continue;
			syncworld_carry_out(s, a);
			more = true;
		}
		actions_free(list);
	}
	out_put(&o, "", 1);
	return o.data;
}
