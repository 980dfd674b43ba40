// SPDX-License-Identifier: GPL-2.0-or-later
#include "kinds.h"

#include <stdio.h>
#include <string.h>

#include "inventory.h"
#include "pcidevfs/key.h"
#include "pcidevfs/util.h"

/* ---- names */

void object_name(const struct world *w, const struct inv_dev *d, char ret[static OBJECT_NAME])
{
	size_t n = (size_t)snprintf(ret, OBJECT_NAME, "%s-", w->node);

	for (const char *c = d->id; *c && n < OBJECT_NAME - 1; c++)
		if (*c != ':' && *c != '.')
			ret[n++] = *c;
	ret[n < OBJECT_NAME ? n : OBJECT_NAME - 1] = '\0';
}

static bool of_node(const struct world *w, const char *name)
{
	size_t n = strlen(w->node);

	return !strncmp(name, w->node, n) && name[n] == '-';
}

/* spec.nodeName decides where there is one, then the label, then the name. */
bool object_is_ours(const struct world *w, enum kind_id kind, json_object *o)
{
	const char *node = js_text(o, "spec.nodeName");
	const char *label = js_meta(o, "labels", "nodename");

	(void)kind;
	if (!*node && label)
		node = label;
	return *node ? !strcmp(node, w->node) : of_node(w, js_text(o, "metadata.name"));
}

json_object *object_find(const struct world *w, enum kind_id kind, const char *name)
{
	json_object *o;

	return json_object_object_get_ex(w->objects[kind], name, &o) ? o : NULL;
}

bool object_is_deleted(json_object *o)
{
	return js_get(o, "metadata.deletionTimestamp");
}

json_object *object_new(const struct kind *k, const char *name)
{
	json_object *o = json_object_new_object();

	js_set(o, "apiVersion", json_object_new_string(GROUP_VERSION));
	js_set(o, "kind", json_object_new_string(k->kind));
	js_set(o, "metadata.name", json_object_new_string(name));
	return o;
}

void object_fill(json_object *o, const struct kind *k, enum part part, const struct at *at)
{
	for (size_t i = 0; i < k->n_fields; i++) {
		const struct field *f = &k->fields[i];
		json_object *value;
		char path[128];

		if (f->part != part)
			continue;
		value = f->conv(at, f->key ? dev_get(at->dev, f->key) : "");
		if (part == LABEL || part == ANNOTATION) {
			js_set_meta(o, part == LABEL ? "labels" : "annotations", f->name,
				    value ? json_object_get_string(value) : NULL);
			json_object_put(value);
			continue;
		}
		snprintf(path, sizeof(path), "%s.%s", part == SPEC ? "spec" : "status", f->name);
		js_set(o, path, value);
	}
}

void object_own(json_object *o, const char *api, const char *kind, const char *name,
		const char *uid)
{
	json_object *owners = js_get(o, "metadata.ownerReferences");
	json_object *owner;

	if (!*uid)
		return;
	owner = json_object_new_object();
	js_set(owner, "apiVersion", json_object_new_string(api));
	js_set(owner, "kind", json_object_new_string(kind));
	js_set(owner, "name", json_object_new_string(name));
	js_set(owner, "uid", json_object_new_string(uid));
	if (!owners) {
		owners = json_object_new_array();
		js_set(o, "metadata.ownerReferences", owners);
	}
	json_object_array_add(owners, owner);
}

/* ---- converters */

static json_object *text(const struct at *at, const char *value)
{
	(void)at;
	return json_object_new_string(value);
}

static json_object *text_if_any(const struct at *at, const char *value)
{
	return *value ? text(at, value) : NULL;
}

static json_object *node(const struct at *at, const char *value)
{
	(void)value;
	return json_object_new_string(at->w->node);
}

static json_object *address(const struct at *at, const char *value)
{
	(void)value;
	return json_object_new_string(at->dev->id);
}

static json_object *hex(const struct at *at, const char *value)
{
	return text(at, strncmp(value, "0x", 2) ? value : value + 2);
}

/* Class and subclass, of "0x020000". */
static json_object *class_id(const struct at *at, const char *value)
{
	char digits[5];

	(void)at;
	snprintf(digits, sizeof(digits), "%s", strncmp(value, "0x", 2) ? value : value + 2);
	return json_object_new_string(digits);
}

/* The driver when the object was made; it stays. */
static json_object *first_driver(const struct at *at, const char *value)
{
	const char *was = js_meta(at->was, "annotations", "harvesterhci.io/pcideviceDriver");

	return text(at, was ? was : value);
}

/* A function that is no vGPU yet has no name of its own in the tree: its card's. */
static json_object *resource(const struct at *at, const char *value)
{
	const struct inv_dev *pf = inventory_find(at->w->inv, dev_get(at->dev, "physfn"));

	return text(at, *value || !pf ? value : dev_get(pf, "resource_name"));
}

/* The individual name that sync gave it (accords.c). */
static json_object * override(const struct at *at, const char *value)
{
	const char *slash = strchr(value, '/');
	char name[OBJECT_NAME];

	object_name(at->w, at->dev, name);
	return slash && !strcmp(slash + 1, name) ? text(at, value) : NULL;
}

static json_object *parent_gpu(const struct at *at, const char *value)
{
	const struct inv_dev *pf = inventory_find(at->w->inv, value);
	char name[OBJECT_NAME];

	if (!pf || strcmp(dev_get(pf, "kind"), "sriov-gpu"))
		return NULL;
	object_name(at->w, pf, name);
	return json_object_new_string(name);
}

static json_object *claimed(const struct at *at, const char *value)
{
	(void)at;
	return json_object_new_boolean(*value != '\0');
}

/* What the claim took it from: where that is known, it stays known. */
static json_object *unbound(const struct at *at, const char *value)
{
	const char *was = js_text(at->was, "status.kernelDriverToUnbind");
	const char *driver;
	char name[OBJECT_NAME];

	(void)value;
	object_name(at->w, at->dev, name);
	driver = js_meta(object_find(at->w, PCI_DEVICE, name), "annotations",
			 "harvesterhci.io/pcideviceDriver");
	return text_if_any(at, *was || !driver ? was : driver);
}

static json_object *is_one(const struct at *at, const char *value)
{
	(void)at;
	return json_object_new_boolean(!strcmp(value, "1"));
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
		char name[OBJECT_NAME];

		object_name(at->w, vfs[order[i]], name);
		json_object_array_add(list,
				      json_object_new_string(names ? name : vfs[order[i]]->id));
	}
	return list;
}

static json_object *vf_addresses(const struct at *at, const char *value)
{
	(void)value;
	return vf_list(at, false);
}

static json_object *vf_names(const struct at *at, const char *value)
{
	(void)value;
	return vf_list(at, true);
}

/* ---- the tables */

/* Harvester keeps its management network (spec/harvester.md 4.6). */
static bool is_management(const struct inv_dev *d)
{
	const char *why = dev_get(d, "host_critical");

	return strstr(why, "mgmt-br") || strstr(why, "mgmt-bo");
}

static bool is_pci(const struct inv_dev *d)
{
	struct pci_addr addr;

	return pci_addr_parse(d->id, &addr);
}

static bool nic_has_vfs(const struct inv_dev *d)
{
	const char *vfs = dev_get(d, "sriov_numvfs");

	return !strcmp(dev_get(d, "kind"), "sriov-nic") && *vfs && strcmp(vfs, "0");
}

static bool pci_device_wanted(const struct world *w, const struct inv_dev *d)
{
	(void)w;
	return is_pci(d) && strncmp(dev_get(d, "class"), "0x0604", 6) && !is_management(d) &&
	       !nic_has_vfs(d);
}

static bool gpu_wanted(const struct world *w, const struct inv_dev *d)
{
	(void)w;
	return is_pci(d) && !strcmp(dev_get(d, "kind"), "sriov-gpu") && dev_has(d, "enabled");
}

/* clang-format off: a row as it is read */
static const struct field pci_device[] = {
	{ LABEL, "nodename", NULL, node },
	{ LABEL, "harvesterhci.io/parentSRIOVGPUDevice", "physfn", parent_gpu },
	{ ANNOTATION, "harvesterhci.io/pcideviceDriver", "driver", first_driver },
	{ ANNOTATION, "pcidevice.harvesterhci.io/override-resource-name", "resource_name",
	  override },
	{ STATUS, "address", NULL, address },
	{ STATUS, "vendorId", "vendor", hex },
	{ STATUS, "deviceId", "device", hex },
	{ STATUS, "classId", "class", class_id },
	{ STATUS, "iommuGroup", "iommu_group", text },
	{ STATUS, "nodeName", NULL, node },
	{ STATUS, "resourceName", "resource_name", resource },
	{ STATUS, "description", "description", text },
	{ STATUS, "kernelDriverInUse", "driver", text_if_any },
};

static const struct field pci_claim[] = {
	{ LABEL, "nodename", NULL, node },
	{ LABEL, "harvesterhci.io/parentSRIOVGPUDevice", "physfn", parent_gpu },
	{ SPEC, "address", NULL, address },
	{ SPEC, "nodeName", NULL, node },
	{ SPEC, "userName", "claim", text },
	{ STATUS, "passthroughEnabled", "claim", claimed },
	{ STATUS, "kernelDriverToUnbind", NULL, unbound },
};

static const struct field gpu_device[] = {
	{ LABEL, "nodename", NULL, node },
	{ SPEC, "address", NULL, address },
	{ SPEC, "nodeName", NULL, node },
	{ SPEC, "enabled", "enabled", is_one },
	{ STATUS, "vfAddresses", NULL, vf_addresses },
	{ STATUS, "vGPUDevices", NULL, vf_names },
};

const struct kind kinds[KINDS] = {
	[PCI_DEVICE] = { "PCIDevice",
			 "pcidevices",
			 { "labelSelector=nodename%%3D%s" },
			 pci_device_wanted,
			 pci_device,
			 ARRAY_SIZE(pci_device) },
	[PCI_CLAIM] = { "PCIDeviceClaim",
			"pcideviceclaims",
			{ "fieldSelector=spec.nodeName%%3D%s" },
			NULL,
			pci_claim,
			ARRAY_SIZE(pci_claim) },
	[GPU_DEVICE] = { "SRIOVGPUDevice", "sriovgpudevices", { "labelSelector=nodename%%3D%s" },
			 gpu_wanted, gpu_device, ARRAY_SIZE(gpu_device) },
};
/* clang-format on */
