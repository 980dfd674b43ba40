// SPDX-License-Identifier: GPL-2.0-or-later
/* Which devices an entry is about. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "client/name.h"
#include "client/yaml.h"
#include "pcidevfs/util.h"
#include "work.h"

/* ---- our form: match: {KEY: VALUE or [VALUE...]}, all keys must fit; or match: all */

struct match_key {
	const char *name;
	/* It names one device, or those in one place, which must be there; else it tells a sort, of
	 * which there may be none. VFs are of no sort but a kind. */
	bool names;
	bool (*is)(const struct tree_device *d, const char *key, const char *value);
	/* Can a device be so? NULL: also what no device is. what: for the refusal. */
	bool (*can)(const char *value);
	const char *what;
	/* Of one that names devices: the refusal if none is so. NULL: it may be a former name. */
	const char *none;
};

static bool has_ids(const struct tree_device *d, const char *key, const char *value)
{
	char ids[32];

	snprintf(ids, sizeof(ids), "%.12s:%.12s", device_says(d, "vendor"),
		 device_says(d, "device"));
	/* "0x10de:0x25b6" of the tree, "10de:25b6" of lspci; USB ids are without 0x */
	for (char *zero; (zero = strstr(ids, "0x"));)
		memmove(zero, zero + 2, strlen(zero + 2) + 1);
	return (!layout_is_vf(d)) && !strcasecmp(ids, value);
}

/* The first of "enp2s0 +2" is one of its names. */
static bool is_called(const struct tree_device *d, const char *key, const char *value)
{
	const char *name = device_says(d, key);
	size_t len = strlen(value);

	return len && !strncasecmp(name, value, len) &&
	       (!name[len] || !strncmp(name + len, " +", 2));
}

/* VFs go by their PF. */
static bool is_in(const struct tree_device *d, const char *key, const char *value)
{
	return value[0] && !layout_is_vf(d) && !strcmp(device_says(d, key), value);
}

static bool can_be_ids(const char *value)
{
	static const char hex[] = "0123456789abcdefABCDEF";

	return strlen(value) == 9 && strspn(value, hex) == 4 && value[4] == ':' &&
	       strspn(value + 5, hex) == 4;
}

static const struct match_key match_keys[] = {
	{ "address", true, NULL },
	{ "netdev", true, is_called },
	{ "disk", true, is_called },
	{ "drm", true, is_called },
	{ "serial", true, is_called },
	{ "slot", true, is_in, .none = "no device is in slot" },
	{ "kind", false, is_called, is_device_kind, "a kind; write one of " DEVICE_KINDS },
	{ "ids", false, has_ids, can_be_ids, "a pair of ids; write for example 10de:25b6" },
};

static const struct match_key *key_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(match_keys); i++)
		if (!strcmp(match_keys[i].name, name))
			return &match_keys[i];
	return NULL;
}

/* The device of this name, also of one that it had before it was claimed. */
static int find_named(struct layout_work *w, unsigned int line, const char *name,
		      const struct tree_device **ret)
{
	_free_ char *events = w->view->events ? strdup(w->view->events) : NULL;
	struct err err = { 0 }, former = { 0 };
	struct targets t = { 0 };
	int r = target_find(w->view->inv, name, &t, &err);

	if (r == -ENODEV && events) {
		targets_free(&t);
		r = target_find_former(w->view->inv, events, name, &t, &former);
	}
	*ret = !r && t.n == 1 ? t.v[0].device : NULL;
	if (r)
		r = layout_fail(w, -r, line, "%s", err.text);
	else if (!*ret)
		r = layout_fail(w, EINVAL, line,
				"\"%.64s\" is not one device; a VF is told by its number below vfs",
				name);
	targets_free(&t);
	return r;
}

/* Marks in fits[] what one value of a key is about. */
static int match_value(struct layout_work *w, const struct match_key *k, json_object *o, bool *fits)
{
	const struct tree_inventory *inv = w->view->inv;
	const char *value = layout_scalar(w, k->name, o);
	const struct tree_device *named = NULL;
	bool any = false;
	int r;

	if (!value)
		return -EINVAL;
	if (k->can && !k->can(value))
		return layout_fail(w, EINVAL, yml_line(o), "\"%.64s\" is not %s", value, k->what);
	for (size_t i = 0; i < inv->n && k->is; i++)
		if (k->is(&inv->devices[i], k->name, value)) {
			if (fits[i] && k->names)
				return layout_fail(w, EINVAL, yml_line(o), "%.64s comes twice",
						   value);
			any = fits[i] = true;
		}
	if (any || !k->names)
		return 0;
	if (k->none)
		return layout_fail(w, ENODEV, yml_line(o), "%s \"%.64s\"", k->none, value);
	r = find_named(w, yml_line(o), value, &named);
	if (r)
		return r;
	if (fits[named - inv->devices])
		return layout_fail(w, EINVAL, yml_line(o), "%.64s comes twice", value);
	fits[named - inv->devices] = true;
	return 0;
}

static int match_key(struct layout_work *w, const char *name, json_object *value, bool *all)
{
	const struct match_key *k = key_of(name);
	size_t n = w->view->inv->n;
	_free_ bool *fits = calloc(n + 1, sizeof(*fits));
	int r = 0;

	if (!fits)
		return fail_nomem(w->err);
	if (!k)
		return layout_fail(
			w, EINVAL, yml_line(value),
			"\"%.64s\" is not a way to match; write address, netdev, disk, drm, "
			"serial, slot, kind or ids",
			name);
	if (!json_object_is_type(value, json_type_array))
		r = match_value(w, k, value, fits);
	else
		for (size_t i = 0; i < json_object_array_length(value) && !r; i++)
			r = match_value(w, k, json_object_array_get_idx(value, i), fits);
	for (size_t i = 0; i < n; i++)
		all[i] &= fits[i];
	return r;
}

static bool has_files(struct layout_work *w, const struct tree_device *d, json_object *entry)
{
	json_object_object_foreach(entry, key, value)
	{
		(void)value;
		if (strcmp(key, "match") != 0 && !layout_has_file(w, d, key))
			return false;
	}
	return true;
}

/* A card in a slot may have functions of several sorts, such as a GPU and its sound: the entry is
 * about those that have all its files; if none has, about all, and the refusal tells what lacks. */
static int keep_able(struct layout_work *w, json_object *entry, bool *all)
{
	const struct tree_inventory *inv = w->view->inv;
	_free_ bool *able = calloc(inv->n + 1, sizeof(*able));
	bool any = false;

	if (!able)
		return fail_nomem(w->err);
	for (size_t i = 0; i < inv->n; i++)
		any |= able[i] = all[i] && has_files(w, &inv->devices[i], entry);
	if (any)
		memcpy(all, able, inv->n * sizeof(*all));
	return 0;
}

int layout_match(struct layout_work *w, json_object *entry, layout_each *each)
{
	json_object *match = json_object_object_get(entry, "match");
	const struct tree_inventory *inv = w->view->inv;
	_free_ bool *all = calloc(inv->n + 1, sizeof(*all));
	bool broad = match && !strcmp(json_object_get_string(match), "all");
	int r = 0;

	if (!all)
		return fail_nomem(w->err);
	for (size_t i = 0; i < inv->n; i++)
		all[i] = !broad || !layout_is_vf(&inv->devices[i]);
	if (!broad &&
	    (!json_object_is_type(match, json_type_object) || !json_object_object_length(match)))
		return layout_fail(w, EINVAL, match ? yml_line(match) : yml_line(entry),
				   "an entry needs match: all, or a map such as match: {address: "
				   "0000:0a:00.0}");
	if (!broad) {
		json_object_object_foreach(match, name, value)
		{
			r = r ?: match_key(w, name, value, all);
		}
		if (!r && json_object_object_get(match, "slot"))
			r = keep_able(w, entry, all);
	}
	for (size_t i = 0; i < inv->n && !r; i++)
		if (all[i])
			r = each(w, &inv->devices[i], entry, broad);
	return r;
}

/* ---- NVIDIA's forms: device-filter and indices */

/* As NVIDIA's programs have both in one number: 0x25b610de. */
static uint32_t pair_of_ids(const char *device, const char *vendor)
{
	uint64_t d = 0, v = 0;

	return parse_u64(device, UINT16_MAX, &d) || parse_u64(vendor, UINT16_MAX, &v)
		       ? 0
		       : (uint32_t)(d << 16 | v);
}

const struct tree_device *layout_gpu(const struct tree_inventory *inv, size_t *at)
{
	for (; *at < inv->n; ++*at) {
		const struct tree_device *d = &inv->devices[*at];

		if (!strcmp(device_says(d, "vendor"), INV_NVIDIA) && !layout_is_vf(d) &&
		    class_is_gpu(device_says(d, "class")))
			return d;
	}
	return NULL;
}

uint32_t layout_board(const struct layout_view *view, const struct tree_device *d)
{
	_free_ char *vendor = view->text(view->ctx, d->id, "subsystem_vendor");
	_free_ char *device = view->text(view->ctx, d->id, "subsystem_device");

	return pair_of_ids(device ?: "", vendor ?: "");
}

bool layout_is_nvswitch(const struct tree_device *d)
{
	return !strcmp(device_says(d, "vendor"), INV_NVIDIA) &&
	       !strncmp(device_says(d, "class"), "0x0680", 6);
}

/* "0x25B610DE": the device id, then the vendor's; ":0x..." are those of the subsystem. */
static int filter_fits(struct layout_work *w, json_object *o, const struct tree_device *d,
		       bool *ret)
{
	const char *text = layout_scalar(w, "device-filter", o),
		   *sub = text ? strchr(text, ':') : NULL;
	uint64_t id, board;
	char head[24];

	if (!text)
		return -EINVAL;
	snprintf(head, sizeof(head), "%.*s", (int)strcspn(text, ":"), text);
	if (parse_u64(head, UINT32_MAX, &id) || (sub && parse_u64(sub + 1, UINT32_MAX, &board)))
		return layout_fail(
			w, EINVAL, yml_line(o),
			"\"%.64s\" is not a device-filter; write a device and its vendor, for "
			"example 0x25B610DE",
			text);
	*ret |= id == pair_of_ids(device_says(d, "device"), device_says(d, "vendor")) &&
		(!sub || board == layout_board(w->view, d));
	return 0;
}

static int filtered(struct layout_work *w, json_object *filter, const struct tree_device *d,
		    bool *ret)
{
	int r = 0;

	*ret = !filter ||
	       (json_object_is_type(filter, json_type_array) && !json_object_array_length(filter));
	if (!filter || *ret)
		return 0;
	if (!json_object_is_type(filter, json_type_array))
		return filter_fits(w, filter, d, ret);
	for (size_t i = 0; i < json_object_array_length(filter) && !r; i++)
		r = filter_fits(w, json_object_array_get_idx(filter, i), d, ret);
	return r;
}

/* Is this index in the list? Each must be that of a card, once. */
static int listed(struct layout_work *w, json_object *devices, size_t gpus, size_t index, bool *ret)
{
	unsigned int found = 0;

	for (size_t i = 0; i < json_object_array_length(devices); i++) {
		json_object *o = json_object_array_get_idx(devices, i);
		const char *text = layout_scalar(w, "devices", o);
		uint64_t n;

		if (!text)
			return -EINVAL;
		if (parse_u64(text, 4095, &n))
			return layout_fail(w, EINVAL, yml_line(o),
					   "\"%.64s\" is not the number of a GPU", text);
		if (n >= gpus)
			return layout_fail(
				w, ENODEV, yml_line(o),
				"there is no GPU %s; this machine has %zu, and the first is 0",
				text, gpus);
		found += n == index;
	}
	*ret = found > 0;
	return found > 1 ? layout_fail(w, EINVAL, yml_line(devices), "%zu comes twice in devices",
				       index)
			 : 0;
}

int layout_match_nvidia(struct layout_work *w, json_object *entry, layout_each *each)
{
	json_object *devices = json_object_object_get(entry, "devices");
	json_object *filter = json_object_object_get(entry, "device-filter");
	bool list = json_object_is_type(devices, json_type_array), is;
	const struct tree_device *d;
	size_t gpus = 0;
	int r = 0;

	if (!list && (!devices || strcmp(json_object_get_string(devices), "all")))
		return layout_fail(w, EINVAL, devices ? yml_line(devices) : yml_line(entry),
				   "devices must be all, or a list of numbers such as [0, 1]");
	for (size_t at = 0; layout_gpu(w->view->inv, &at); at++)
		gpus++;
	for (size_t at = 0, i = 0; !r && (d = layout_gpu(w->view->inv, &at)); at++, i++) {
		r = filtered(w, filter, d, &is);
		if (!r && is && list)
			r = listed(w, devices, gpus, i, &is);
		if (!r && is)
			r = each(w, d, entry, false);
	}
	return r;
}
