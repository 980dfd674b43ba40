// SPDX-License-Identifier: GPL-2.0-or-later
/* Values of spec that are a file of the tree: one row each. The note is on the object itself. */
#include <string.h>

#include "accord.h"
#include "accords.h"
#include "inventory.h"
#include "pcidevfs/util.h"

struct value_row {
	enum kind_id kind;
	const char *field; /* of spec, a boolean */
	const char *file;
	const char *note;
};

static const struct value_row rows[] = {
	{ GPU_DEVICE, "spec.enabled", "enabled", NOTE_PREFIX "enabled" },
};

struct value {
	const struct value_row *row;
	const struct inv_dev *dev;
	json_object *object;
	const char *tree, *cluster;
	char name[OBJECT_NAME], about[80];
	struct accord accord;
};

/* No value is none: then nothing needs a note. */
static const char *spelled(bool on)
{
	return on ? "1" : "none";
}

static void to_tree(const struct world *w, const struct value *v, struct action **list)
{
	uint64_t seen = fnv1a(dev_hash(v->dev), v->cluster, strlen(v->cluster));
	const struct verdict *was = verdict_about(w, v->about);
	struct out lines = { 0 };
	struct action *a;

	if (was && (was->running || was->seen == seen))
		return;
	a = action_add(list, ACT_CTL, v->row->kind, v->name, json_object_get(v->object));
	if (!a)
		return;
	out_printf(&lines, "%s %s\n", v->about, strcmp(v->cluster, "none") ? v->cluster : "0");
	STR_COPY(a->about, v->about);
	a->seen = seen;
	a->lines = lines.data;
}

static void to_cluster(const struct value *v, struct action **list)
{
	json_object *patch = patch_of(v->object);

	js_set(patch, v->row->field, json_object_new_boolean(strcmp(v->tree, "none") != 0));
	action_add(list, ACT_PATCH, v->row->kind, v->name, patch);
}

static void note(const struct world *w, const struct value *v, struct action **list)
{
	const struct at at = { .w = w, .dev = v->dev, .was = v->object };
	json_object *want = want_main(&at, &kinds[v->row->kind], v->name), *m;
	char text[ERR_TEXT];

	if (*v->accord.note)
		js_set_meta(want, "annotations", v->row->note, v->accord.note);
	else if ((m = js_get(want, "metadata.annotations")))
		json_object_object_del(m, v->row->note);
	action_add(list, ACT_APPLY, v->row->kind, v->name, want);
	if (!v->accord.overruled)
		return;
	snprintf(text, sizeof(text),
		 "%s was changed in the tree and in the cluster; the cluster's value counts",
		 v->about);
	action_event(list, v->row->kind, v->object, "Overruled", text);
}

static bool value_look(const struct world *w, const struct value_row *row, const struct inv_dev *d,
		       struct value *v)
{
	*v = (struct value){ .row = row, .dev = d };
	if (!kinds[row->kind].wanted(w, d))
		return false;
	object_name(w, d, v->name);
	v->object = object_find(w, row->kind, v->name);
	if (!v->object || object_is_deleted(v->object))
		return false;
	v->tree = spelled(!strcmp(dev_get(d, row->file), "1"));
	v->cluster = spelled(json_object_get_boolean(js_get(v->object, row->field)));
	snprintf(v->about, sizeof(v->about), "%s/%s", d->id, row->file);
	accord_decide(js_meta(v->object, "annotations", row->note), v->tree, v->cluster,
		      &v->accord);
	return true;
}

static void decide_value(const struct world *w, const struct value *v, struct action **list)
{
	switch (v->accord.what) {
	case ACCORD_NOTE:
		note(w, v, list);
		break;
	case ACCORD_TO_TREE:
		to_tree(w, v, list);
		break;
	case ACCORD_TO_CLUSTER:
		to_cluster(v, list);
		break;
	case ACCORD_REST:
		break;
	}
}

void values_decide(const struct world *w, struct action **list)
{
	for (size_t r = 0; r < ARRAY_SIZE(rows); r++)
		for (size_t i = 0; i < w->inv->n; i++) {
			struct value v;

			if (value_look(w, &rows[r], w->inv->v[i], &v))
				decide_value(w, &v, list);
		}
}

void values_standing(const struct at *at, enum kind_id kind, struct standing *ret)
{
	for (size_t r = 0; r < ARRAY_SIZE(rows); r++) {
		const struct verdict *was;
		struct value v;

		if (rows[r].kind != kind || !value_look(at->w, &rows[r], at->dev, &v))
			continue;
		was = verdict_about(at->w, v.about);
		if (v.accord.agreed || !was || was->running || !was->err.code)
			continue;
		*ret = (struct standing){ .type = "Applied", .reason = "Refused" };
		STR_COPY(ret->message, was->err.text);
	}
}
