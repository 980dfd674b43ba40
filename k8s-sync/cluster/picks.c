// SPDX-License-Identifier: GPL-2.0-or-later
#include "picks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "k8s-sync/agree/js.h"

#define USE "status.conditions"
#define LABELLED "metadata.labels.nodename", USE
#define NAMED "spec.nodeName", USE
/* Who has a device. */
#define WHO "metadata.annotations." ALLOCATED_TO, "metadata.annotations." POD_OF_VM

const struct pick_row pick_rows[PICK_KINDS] = {
	[PICK_PCI_DEVICE] = { "pcidevices",
			      { LABELLED, "status.resourceName", "status.vendorId",
				"status.deviceId", WHO } },
	[PICK_PCI_CLAIM] = { "pcideviceclaims", { NAMED, "spec.address" }, .ends = true },
	[PICK_VGPU] = { "vgpudevices",
			{ NAMED, "spec.enabled", "spec.vGPUTypeName",
			  "status.configureVGPUTypeName", "status.uuid",
			  "status.availableTypes" } },
	[PICK_USB_DEVICE] = { "usbdevices",
			      { LABELLED, "status.resourceName", "status.vendorID",
				"status.productID", WHO } },
	[PICK_USB_CLAIM] = { "usbdeviceclaims", { "status.nodeName", USE }, .ends = true },
	[PICK_NET] = { "sriovnetworkdevices", { NAMED } },
	[PICK_GPU] = { "sriovgpudevices", { NAMED } },
};

/* Without its message if that is too long. */
static void use_of(json_object *o, char ret[static PICK_TEXT])
{
	json_object *all = js_get(o, USE);

	*ret = '\0';
	for (size_t i = 0; i < js_length(all) && !*ret; i++) {
		json_object *c = json_object_array_get_idx(all, i);
		const char *time = js_text(c, "lastTransitionTime");

		if (strcmp(js_text(c, "type"), "InUse") || strcmp(js_text(c, "status"), "True"))
			continue;
		if (snprintf(ret, PICK_TEXT, "%zu %.40s %s", i, time, js_text(c, "message")) >=
		    PICK_TEXT)
			snprintf(ret, PICK_TEXT, "%zu %.40s ", i, time);
	}
}

/* The value as a text. */
static const char *value_of(json_object *o, const char *path)
{
	json_object *value = path ? js_get(o, path) : NULL;
	const char *text = "";

	if (json_object_is_type(value, json_type_object)) {
		struct json_object_iterator at = json_object_iter_begin(value);
		struct json_object_iterator end = json_object_iter_end(value);

		value = json_object_iter_equal(&at, &end) ? NULL : json_object_iter_peek_value(&at);
	}
	if (json_object_is_type(value, json_type_string))
		text = json_object_get_string(value);
	else if (json_object_is_type(value, json_type_boolean))
		text = json_object_get_boolean(value) ? "true" : "";
	return strlen(text) < PICK_TEXT ? text : "";
}

static char *add(char *at, const char *text)
{
	size_t size = strlen(text) + 1;

	memcpy(at, text, size);
	return at + size;
}

static struct pick *pick_new(const char *name, const char *const v[static PICK_FIELDS])
{
	size_t size = strlen(name) + 1;
	struct pick *i;
	char *at;

	for (size_t f = 0; f < PICK_FIELDS; f++)
		size += strlen(v[f]) + 1;
	i = malloc(sizeof(*i) + size);
	if (!i)
		return NULL;
	i->name = i->text;
	at = add(i->text, name);
	for (size_t f = 0; f < PICK_FIELDS; f++) {
		i->v[f] = at;
		at = add(at, v[f]);
	}
	return i;
}

static void pick_free(struct lh_entry *e)
{
	free((void *)lh_entry_v(e));
}

struct lh_table *picks_table(void)
{
	return lh_kchar_table_new(64, pick_free);
}

static bool is_same(const struct pick *i, const char *const v[static PICK_FIELDS])
{
	for (size_t f = 0; f < PICK_FIELDS; f++)
		if (strcmp(i->v[f], v[f]))
			return false;
	return true;
}

int picks_put(struct lh_table *t, enum pick_kind kind, json_object *o)
{
	const char *name = js_text(o, "metadata.name"), *v[PICK_FIELDS];
	struct lh_entry *e = lh_table_lookup_entry(t, name);
	char use[PICK_TEXT];
	struct pick *i;

	if (pick_rows[kind].ends && js_get(o, "metadata.deletionTimestamp"))
		return picks_drop(t, name);
	for (size_t f = 0; f < PICK_FIELDS; f++)
		v[f] = value_of(o, pick_rows[kind].paths[f]);
	use_of(o, use);
	v[PICK_USE] = use;
	if (!*name || (e && is_same(lh_entry_v(e), v)))
		return 0;
	if (!e && lh_table_length(t) >= PICKS_MAX)
		return -E2BIG;
	i = pick_new(name, v);
	if (!i)
		return -ENOMEM;
	if (e)
		lh_table_delete_entry(t, e);
	if (!lh_table_insert(t, i->name, i))
		return 1;
	free(i);
	return -ENOMEM;
}

bool picks_drop(struct lh_table *t, const char *name)
{
	return !lh_table_delete(t, name);
}

const struct pick *picks_find(const struct picks *all, enum pick_kind kind, const char *name)
{
	void *found;

	return lh_table_lookup_ex(all->table[kind], name, &found) ? found : NULL;
}

const char *picks_key(json_object *o, char ret[static PICKS_KEY])
{
	snprintf(ret, PICKS_KEY, "%s/%s", js_text(o, "metadata.namespace"),
		 js_text(o, "metadata.name"));
	return ret;
}

bool picks_device_of(const struct pick *claim, char ret[static OBJECT_NAME])
{
	size_t n = (size_t)snprintf(ret, OBJECT_NAME, "%s-", claim->v[PICK_NODE]);
	const char *address = claim->v[CLAIM_ADDRESS];

	for (; *address && n < OBJECT_NAME - 1; address++)
		if (*address != ':' && *address != '.')
			ret[n++] = *address;
	if (n >= OBJECT_NAME || *address)
		return false;
	ret[n] = '\0';
	return true;
}
