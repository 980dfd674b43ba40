// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agree.h"
#include "inventory.h"
#include "pcidevfs/pair.h"
#include "pcidevfs/util.h"
#include "pcidevfs/valid.h"
#include "tables.h"

json_object *conv_text(const struct at *at, const char *value)
{
	return json_object_new_string(value);
}

json_object *conv_node(const struct at *at, const char *value)
{
	return json_object_new_string(at->w->node);
}

json_object *conv_hex(const struct at *at, const char *value)
{
	return conv_text(at, strncmp(value, "0x", 2) ? value : value + 2);
}

json_object *conv_class_id(const struct at *at, const char *value)
{
	char digits[5];

	snprintf(digits, sizeof(digits), "%s", strncmp(value, "0x", 2) ? value : value + 2);
	return json_object_new_string(digits);
}

json_object *conv_is_set(const struct at *at, const char *value)
{
	return json_object_new_boolean(*value != '\0');
}

/* One that was named stays while a new daemon reads pending. A ResourceClaim is not a pod. */
json_object *conv_pod(const struct at *at, const char *value)
{
	const char *was = js_meta(at->was, "annotations", ALLOCATED_TO);
	const char *pod = strchr(value, '/');

	if (!strcmp(value, "pending"))
		return was ? conv_text(at, was) : NULL;
	if (!pod)
		return NULL;
	return json_object_new_string_len(value, (int)(pod + 1 + strcspn(pod + 1, "/") - value));
}

bool object_is_same(const struct at *at)
{
	static const char *const ids[][2] = { { "status.vendorId", "vendor" },
					      { "status.deviceId", "device" } };

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		_json_ json_object *now = conv_hex(at, dev_get(at->dev, ids[i][1]));
		const char *was = js_text(at->was, ids[i][0]);

		if (*was && strcmp(was, json_object_get_string(now)))
			return false;
	}
	return true;
}

/* The host's driver when the object was made; it stays while the card does. Whoever goes back to a
 * driver for guests gives nothing back to the host. */
json_object *conv_first_driver(const struct at *at, const char *value)
{
	const char *was = js_meta(at->was, "annotations", FIRST_DRIVER);
	const char *former = dev_get(at->dev, "former_driver");

	if (was && (driver_is_vfio(was) || !object_is_same(at)))
		was = NULL;
	if ((!was || !*was) && *former)
		return conv_text(at, former);
	return conv_text(at, was ?: driver_is_vfio(value) ? "" : value);
}

/* A function that is no vGPU yet has no name of its own in the tree: its card's. */
json_object *conv_resource(const struct at *at, const char *value)
{
	const struct inv_dev *pf = inventory_find(at->w->inv, dev_get(at->dev, "physfn"));
	const char *before = adopt_name(at);

	if (*before)
		return conv_text(at, before);
	return conv_text(at, *value || !pf ? value : dev_get(pf, "resource_name"));
}

/* The name of its PF's object; none where a label does not take it. */
static json_object *parent(const struct at *at, const char *physfn, const char *kind,
			   enum kind_id id)
{
	const struct inv_dev *pf = inventory_find(at->w->inv, physfn);
	char name[OBJECT_NAME];

	if (!pf || strcmp(dev_get(pf, "kind"), kind) || !object_name(at->w, id, pf, name) ||
	    strlen(name) > LABEL_VALUE)
		return NULL;
	return json_object_new_string(name);
}

json_object *conv_parent_gpu(const struct at *at, const char *value)
{
	return parent(at, value, "sriov-gpu", GPU_DEVICE);
}

json_object *conv_parent_nic(const struct at *at, const char *value)
{
	return parent(at, value, "sriov-nic", NET_DEVICE);
}

/* While a NIC is with another driver it has none. */
json_object *conv_interface(const struct at *at, const char *value)
{
	const char *was = js_meta(at->was, "annotations", INTERFACE_NAME);

	if (!*value)
		return was ? conv_text(at, was) : NULL;
	return json_object_new_string_len(value, (int)strcspn(value, " "));
}

/* One that never had VFs has no word. */
json_object *conv_net_status(const struct at *at, const char *value)
{
	if (*value && strcmp(value, "0"))
		return conv_text(at, "sriovNetworkDeviceEnabled");
	return *js_text(at->was, "status.status") ? conv_text(at, "sriovNetworkDeviceDisabled")
						  : NULL;
}

/* What the claim took it from: the tree knows, or it was known before the tree did. */
json_object *conv_unbound(const struct at *at, const char *value)
{
	const char *const known[] = {
		value,
		js_text(at->was, "status.kernelDriverToUnbind"),
		js_meta(object_of(at->w, PCI_DEVICE, at->dev), "annotations", FIRST_DRIVER),
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i] && *known[i] && !driver_is_vfio(known[i]))
			return conv_text(at, known[i]);
	return NULL;
}

/* Its name was made for a claim that asked for that. */
json_object *conv_alone(const struct at *at, const char *value)
{
	return alone_is_name(at->w, &claims_pci, value) ? json_object_new_boolean(true) : NULL;
}

json_object *conv_types(const struct at *at, const char *value)
{
	_json_ json_object *types = json_object_new_object();
	char *text = strdup(value), *cursor = text;
	char name[128] = "";
	struct pair p;

	while (text && pair_next(&cursor, &p) == 1) {
		str_clean(p.value);
		if (!strcmp(p.key, "name"))
			STR_COPY(name, p.value);
		if (!strcmp(p.key, "id") && *name)
			json_object_object_add(types, name, json_object_new_string(p.value));
	}
	free(text);
	return json_object_object_length(types) ? json_object_get(types) : NULL;
}

/* Of a mediated device; where the VF itself is the vGPU, the type's number. */
json_object *conv_vgpu_uuid(const struct at *at, const char *value)
{
	const char *uuid = dev_get(at->dev, "mdev_uuid");

	return *value ? conv_text(at, *uuid ? uuid : dev_get(at->dev, "profile_id")) : NULL;
}

json_object *conv_vgpu_resource(const struct at *at, const char *value)
{
	return *value ? conv_text(at, dev_get(at->dev, "resource_name")) : NULL;
}

/* As directories list virtfn0, virtfn1, virtfn10, ..., virtfn2. */
static int by_text(const void *a, const void *b)
{
	char x[16], y[16];

	snprintf(x, sizeof(x), "%u", *(const unsigned int *)a);
	snprintf(y, sizeof(y), "%u", *(const unsigned int *)b);
	return strcmp(x, y);
}

enum { VFS_MAX = 1024 };

/* Its VFs in the order of their addresses, which is that of their numbers. */
static unsigned int vfs_of(const struct at *at, const struct inv_dev **vfs)
{
	const struct inventory *inv = at->w->inv;
	unsigned int n = 0;

	for (size_t i = 0; i < inv->n && n < VFS_MAX; i++)
		if (!strcmp(dev_get(inv->v[i], "physfn"), at->dev->id))
			vfs[n++] = inv->v[i];
	return n;
}

static json_object *vf_list(const struct at *at, bool names)
{
	const struct inv_dev *vfs[VFS_MAX];
	unsigned int order[VFS_MAX], n = vfs_of(at, vfs);
	json_object *list = json_object_new_array();

	for (unsigned int i = 0; i < n; i++)
		order[i] = i;
	qsort(order, n, sizeof(*order), by_text);
	for (unsigned int i = 0; i < n; i++) {
		const struct inv_dev *vf = vfs[order[i]];
		char name[OBJECT_NAME];

		object_name(at->w, PCI_DEVICE, vf, name);
		json_object_array_add(list, json_object_new_string(names ? name : vf->id));
	}
	return list;
}

json_object *conv_vf_addresses(const struct at *at, const char *value)
{
	return vf_list(at, false);
}

json_object *conv_vf_names(const struct at *at, const char *value)
{
	return vf_list(at, true);
}
