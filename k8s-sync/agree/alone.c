// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "agree.h"
#include "inventory.h"
#include "pcidevfs/util.h"

#define ALONE "spec.disableResourcePooling"

static const char *part_of(const char *resource)
{
	const char *slash = strchr(resource, '/');

	return slash ? slash + 1 : "";
}

bool alone_is_name(const struct world *w, const struct claim_kind *k, const char *resource)
{
	char name[OBJECT_NAME], *dot;

	STR_COPY(name, part_of(resource));
	dot = strrchr(name, '.');
	if (dot && dot[1] && !dot[1 + strspn(dot + 1, "0123456789")])
		*dot = '\0';
	return k->named(w, name);
}

/* By another device that is here, or in another object, whose device may be away. */
static bool is_taken(const struct value *v, const char *part)
{
	for (size_t i = 0; i < v->w->inv->n; i++) {
		const struct inv_dev *d = v->w->inv->v[i];

		if (d != v->dev && !strcmp(part_of(dev_get(d, "resource_name")), part))
			return true;
	}
	json_object_object_foreach(v->w->objects[v->row->kind], name, o)
	{
		const char *has = js_meta(o, "annotations", RESOURCE_OVERRIDE);

		if (has && strcmp(name, v->name) && !strcmp(part_of(has), part))
			return true;
	}
	return false;
}

static void choose(const struct value *v, char ret[static OBJECT_NAME])
{
	str_copy(ret, OBJECT_NAME, v->name);
	for (unsigned int n = 2; v->row->claim->by_address && is_taken(v, ret); n++)
		snprintf(ret, OBJECT_NAME, "%.230s.%u", v->name, n);
}

static bool has_claim(const struct value *v)
{
	return v->claim && strcmp(v->cluster, "none");
}

static bool asks_alone(const struct value *v)
{
	return !v->row->claim->by_address || json_object_get_boolean(js_get(v->claim, ALONE));
}

void alone_to_tree(const struct value *v, struct out *lines)
{
	const struct claim_kind *k = v->row->claim;
	const char *has = dev_get(v->dev, "resource_name"), *slash = strchr(has, '/');
	bool alone = has_claim(v) && asks_alone(v), named = alone_is_name(v->w, k, has);
	const struct at at = { v->w, v->dev, v->object };
	char name[OBJECT_NAME];

	if (!slash)
		return;
	if (alone && !(named && k->by_address) && strcmp(slash + 1, v->name)) {
		choose(v, name);
		if (!strcmp(part_of(adopt_override(&at)), name))
			has = adopt_override(&at); /* with the domain that kubelet has it by */
		out_printf(lines, "%s/resource_name %.*s/%s\n", v->dev->id, (int)strcspn(has, "/"),
			   has, name);
	} else if (!alone && named) {
		out_printf(lines, "%s/resource_name none\n", v->dev->id);
	}
}

void alone_to_cluster(const struct value *v, json_object *patch)
{
	const struct claim_kind *k = v->row->claim;
	bool named = alone_is_name(v->w, k, dev_get(v->dev, "resource_name"));

	if (k->by_address && named != asks_alone(v))
		js_set(patch, ALONE, json_object_new_boolean(named));
}

/* Was it so when the name was last agreed, so that the tree has changed since: its object is
 * another device's now? */
static bool tree_changed(const struct value *v)
{
	const struct claim_kind *k = v->row->claim;
	const char *note = js_meta(v->object, "annotations", NOTE_PREFIX "resource_name") ?: "";
	bool alone = asks_alone(v);
	size_t step = strcspn(note, "<>");

	if (!k->by_address || alone == alone_is_name(v->w, k, dev_get(v->dev, "resource_name")))
		return false;
	return alone == alone_is_name(v->w, k, note[step] ? note + step + 1 : note);
}

void alone_at_rest(const struct value *v, struct actions *list)
{
	struct out lines = { 0 };
	json_object *patch;
	char about[80];

	if (has_claim(v) && tree_changed(v)) {
		patch = patch_of(v->claim);
		alone_to_cluster(v, patch);
		action_add(list, ACT_PATCH, v->row->claim->claim,
			   js_text(v->claim, "metadata.name"), patch);
		return;
	}
	alone_to_tree(v, &lines);
	snprintf(about, sizeof(about), "%s/alone", v->dev->id);
	ask_tree(v, about, fnv1a(v->seen, lines.data, lines.len), &lines, list);
}
