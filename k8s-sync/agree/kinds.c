// SPDX-License-Identifier: GPL-2.0-or-later
#include "kinds.h"

#include <stdio.h>
#include <string.h>

#include "inventory.h"
#include "pcidevfs/util.h"

/* ---- names */

bool object_name(const struct world *w, enum kind_id kind, const struct inv_dev *d,
		 char ret[static OBJECT_NAME])
{
	size_t n;

	if (kinds[kind].name)
		return kinds[kind].name(w, d, ret);
	n = (size_t)snprintf(ret, OBJECT_NAME, "%s-", w->node);
	for (const char *c = d->id; *c && n < OBJECT_NAME - 1; c++)
		if (*c != ':' && *c != '.')
			ret[n++] = *c;
	ret[n < OBJECT_NAME ? n : OBJECT_NAME - 1] = '\0';
	return true;
}

/* Not of node1-a where the node is node1: an address has no dash. */
bool object_is_named(const struct world *w, const char *name)
{
	size_t n = strlen(w->node);

	if (strncmp(name, w->node, n) || name[n] != '-')
		return false;
	name += n + 1;
	return *name && !name[strspn(name, "0123456789abcdef")];
}

/* spec.nodeName decides where there is one, then the label, then the name. */
bool object_is_ours(const struct world *w, enum kind_id kind, json_object *o)
{
	const char *node = js_text(o, "spec.nodeName");
	const char *label = js_meta(o, "labels", "nodename");

	if (kinds[kind].ours)
		return kinds[kind].ours(w, o);
	if (!*node && label)
		node = label;
	return *node ? !strcmp(node, w->node) : object_is_named(w, js_text(o, "metadata.name"));
}

json_object *object_find(const struct world *w, enum kind_id kind, const char *name)
{
	return json_object_object_get(w->objects[kind], name);
}

json_object *object_about(const struct world *w, enum kind_id kind, is_about *about,
			  const struct inv_dev *d)
{
	json_object *const maps[] = { w->objects[kind], w->left[kind] };

	for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
		if (!maps[i])
			continue;
		json_object_object_foreach(maps[i], name, o)
		{
			(void)name;
			if (about(w, o, d))
				return o;
		}
	}
	return NULL;
}

json_object *object_of(const struct world *w, enum kind_id kind, const struct inv_dev *d)
{
	char name[OBJECT_NAME];

	return object_name(w, kind, d, name) ? object_find(w, kind, name) : NULL;
}

bool kind_wanted(const struct world *w, enum kind_id kind)
{
	for (size_t i = 0; i < w->inv->n; i++)
		if (kinds[kind].wanted(w, w->inv->v[i]))
			return true;
	return false;
}

bool kind_tells(const struct world *w, enum kind_id kind)
{
	return !(w->lacks[kind] & LACKS_CONDITIONS);
}

const char *kind_field(enum kind_id kind, uint32_t bit)
{
	const struct kind *k = &kinds[kind];

	if (bit == LACKS_CONDITIONS)
		return "conditions";
	for (size_t i = 0; i < k->n_fields; i++)
		if (bit == 1U << i)
			return k->fields[i].part == STATUS ? k->fields[i].name : NULL;
	return NULL;
}

uint32_t kind_undeclared(enum kind_id kind, const char *sentence)
{
	uint32_t found = 0;

	for (uint32_t bit = 1; bit; bit <<= 1) {
		const char *field = kind_field(kind, bit);
		char said[128];

		if (!field)
			continue;
		snprintf(said, sizeof(said), ".status.%s: field not declared in schema", field);
		if (strstr(sentence, said))
			found |= bit;
	}
	return found;
}

bool object_is_deleted(json_object *o)
{
	return js_get(o, "metadata.deletionTimestamp");
}

json_object *object_new(const struct kind *k, const char *name, json_object *was)
{
	json_object *o = json_object_new_object();
	const char *uid = js_text(was, "metadata.uid");

	js_set_text(o, "apiVersion", GROUP_VERSION);
	js_set_text(o, "kind", k->kind);
	js_set_text(o, "metadata.name", name);
	if (*uid)
		js_set_text(o, "metadata.uid", uid);
	return o;
}

static json_object *value_of(const struct field *f, const char *path, const struct at *at)
{
	json_object *value;
	const char *text;

	if (!at->dev && f->gone == STAYS)
		return json_object_get(js_get(at->was, path));
	if (!at->dev != (f->gone == COMES))
		return NULL;
	text = !at->dev ? f->says : f->key ? dev_get(at->dev, f->key) : at->dev->id;
	if (f->says)
		return *text ? json_object_new_string(f->says) : NULL;
	value = f->conv(at, text);
	if (!f->any || js_length(value) || *js_text(value, ""))
		return value;
	json_object_put(value);
	return NULL;
}

void object_fill(json_object *o, const struct kind *k, enum part part, const struct at *at)
{
	for (size_t i = 0; i < k->n_fields; i++) {
		const struct field *f = &k->fields[i];
		json_object *value;
		char path[128];

		if (f->part != part || (part == STATUS && at->w->lacks[k - kinds] & 1U << i))
			continue;
		snprintf(path, sizeof(path), "%s.%s", part == SPEC ? "spec" : "status", f->name);
		value = value_of(f, path, at);
		if (part == SPEC || part == STATUS) {
			js_set(o, path, value);
			continue;
		}
		js_set_meta(o, part == LABEL ? "labels" : "annotations", f->name,
			    value ? json_object_get_string(value) : NULL);
		json_object_put(value);
	}
}

bool object_has_spec(enum kind_id kind, json_object *o)
{
	const struct kind *k = &kinds[kind];
	char path[128] = "spec";

	for (size_t i = 0; i < k->n_fields && !strchr(path, '.'); i++)
		if (k->fields[i].part == SPEC)
			snprintf(path, sizeof(path), "spec.%s", k->fields[i].name);
	return *js_text(o, path);
}

void object_own(json_object *o, const char *api, const char *kind, const char *name,
		const char *uid)
{
	json_object *owners = js_get(o, "metadata.ownerReferences");
	json_object *owner;

	if (!*uid)
		return;
	owner = json_object_new_object();
	js_set_text(owner, "apiVersion", api);
	js_set_text(owner, "kind", kind);
	js_set_text(owner, "name", name);
	js_set_text(owner, "uid", uid);
	if (!owners) {
		owners = json_object_new_array();
		js_set(o, "metadata.ownerReferences", owners);
	}
	json_object_array_add(owners, owner);
}
