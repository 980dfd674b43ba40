// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <string.h>

#include "k8s-sync/agree/js.h"
#include "pcidevfs/valid.h"
#include "permitted.h"

const struct dialect dialect_kubevirt = {
	.api = "kubevirt.io/v1",
	.plural = "kubevirts",
	.kind = "KubeVirt",
	.above = "spec.configuration",
	.lists = { "pciHostDevices", "mediatedDevices", "usb" },
	.pci_selector = "pciVendorSelector",
};

const struct dialect dialect_hyperconverged = {
	.api = "hco.kubevirt.io/v1beta1",
	.plural = "hyperconvergeds",
	.kind = "HyperConverged",
	.above = "spec",
	.lists = { "pciHostDevices", "mediatedDevices", "usbHostDevices" },
	.pci_selector = "pciDeviceSelector",
	.keyed = true,
};

static int by_line(const void *a, const void *b)
{
	return strcmp(js_line(*(json_object *const *)a), js_line(*(json_object *const *)b));
}

/* Takes the entry. */
static void offer(struct offers *o, enum list_id list, const char *name, json_object *entry)
{
	json_object *entries;

	js_set_text(entry, "resourceName", name);
	js_set(entry, "externalResourceProvider", json_object_new_boolean(true));
	if (!json_object_object_get_ex(o->names[list], name, &entries)) {
		entries = json_object_new_array_ext(1);
		json_object_object_add(o->names[list], name, entries);
	}
	for (size_t i = 0; i < json_object_array_length(entries); i++) {
		if (json_object_equal(json_object_array_get_idx(entries, i), entry)) {
			json_object_put(entry);
			return;
		}
	}
	json_object_array_add(entries, entry);
	json_object_array_sort(entries, by_line);
}

static void offer_pci(struct offers *o, const struct dialect *d, const struct pick *device,
		      const char *name)
{
	const char *vendor = device->v[PCI_VENDOR], *id = device->v[PCI_DEVICE_ID];
	json_object *entry;
	char selector[10];

	if (!entry_is_id(vendor) || !entry_is_id(id) || !valid_resource(name))
		return;
	snprintf(selector, sizeof(selector), "%s:%s", vendor, id);
	entry = json_object_new_object();
	js_set_text(entry, d->pci_selector, selector);
	offer(o, LIST_PCI, name, entry);
}

/* As a type's name becomes that of a resource (spec/harvester.md 4.3). */
static void type_resource(const char *type, char ret[static RESOURCE_NAME])
{
	size_t n = (size_t)snprintf(ret, RESOURCE_NAME, "nvidia.com/");

	type += strspn(type, " \t");
	for (; *type && n < RESOURCE_NAME - 1; type++) {
		bool blank = isspace((unsigned char)*type);

		if (!blank || !isspace((unsigned char)type[1]))
			ret[n++] = blank || *type == '/' || *type == '.' ? '_' : *type;
	}
	while (n && ret[n - 1] == '_')
		n--;
	ret[n] = '\0';
}

/* Which world a vGPU is of, as far as its object tells: a mediated device's UUID, a type's id
 * "nvidia-745"; or numbers where the VF itself is the vGPU. */
static bool may_be(const struct pick *vgpu, bool mediated)
{
	const char *id = *vgpu->v[VGPU_UUID] ? vgpu->v[VGPU_UUID] : vgpu->v[VGPU_TYPE_ID];

	return !*id || mediated == (strspn(id, "0123456789") != strlen(id));
}

static void offer_type(struct offers *o, const struct dialect *d, const struct picks *picks,
		       const struct pick *vgpu, const char *type)
{
	const struct pick *device = picks_find(picks, PICK_PCI_DEVICE, vgpu->name);
	char name[RESOURCE_NAME];
	json_object *entry;

	type_resource(type, name);
	if (!*type || !valid_resource(name))
		return;
	if (device && may_be(vgpu, false))
		offer_pci(o, d, device, name);
	if (!may_be(vgpu, true))
		return;
	entry = json_object_new_object();
	js_set_text(entry, "mdevNameSelector", type);
	offer(o, LIST_MDEV, name, entry);
}

/* KubeVirt removes a mediated device whose type is not permitted (spec/peers.md 1.9). So it must be
 * permitted before it is made, by what is asked, and as long as it stands, whatever is asked. */
static void offer_vgpu(struct offers *o, const struct dialect *d, const struct picks *picks,
		       const struct pick *vgpu, bool all)
{
	const char *asked = vgpu->v[VGPU_TYPE], *stands = vgpu->v[VGPU_CONFIGURED];

	if (all || *vgpu->v[VGPU_ENABLED])
		offer_type(o, d, picks, vgpu, *asked ? asked : stands);
	if (*vgpu->v[VGPU_UUID])
		offer_type(o, d, picks, vgpu, stands);
}

static void offer_usb(struct offers *o, const struct pick *device)
{
	const char *name = device->v[USB_RESOURCE];
	json_object *entry, *selectors, *selector;

	if (!entry_is_id(device->v[USB_VENDOR]) || !entry_is_id(device->v[USB_PRODUCT]) ||
	    !valid_resource(name))
		return;
	selector = json_object_new_object();
	js_set_text(selector, "vendor", device->v[USB_VENDOR]);
	js_set_text(selector, "product", device->v[USB_PRODUCT]);
	selectors = json_object_new_array_ext(1);
	json_object_array_add(selectors, selector);
	entry = json_object_new_object();
	json_object_object_add(entry, "selectors", selectors);
	offer(o, LIST_USB, name, entry);
}

static void offer_pick(struct offers *o, const struct dialect *d, const struct picks *picks,
		       enum pick_kind kind, const struct pick *i, bool all)
{
	const struct pick *device = NULL;
	char name[OBJECT_NAME];

	switch (kind) {
	case PICK_PCI_CLAIM:
		if (picks_device_of(i, name))
			device = picks_find(picks, PICK_PCI_DEVICE, name);
		if (device && !picks_find(picks, PICK_VGPU, device->name))
			offer_pci(o, d, device, device->v[PCI_RESOURCE]);
		break;
	case PICK_USB_CLAIM:
		device = picks_find(picks, PICK_USB_DEVICE, i->name);
		if (device)
			offer_usb(o, device);
		break;
	case PICK_VGPU:
		offer_vgpu(o, d, picks, i, all);
		break;
	case PICK_PCI_DEVICE:
		if (all)
			offer_pci(o, d, i, i->v[PCI_RESOURCE]);
		break;
	case PICK_USB_DEVICE:
		if (all)
			offer_usb(o, i);
		break;
	default:
		break;
	}
}

void offers_fill(struct offers *ret, const struct dialect *d, const struct picks *picks, bool all)
{
	struct lh_entry *e;

	for (enum list_id l = 0; l < LISTS; l++)
		ret->names[l] = json_object_new_object();
	for (enum pick_kind k = 0; k < PICK_KINDS; k++)
		lh_foreach(picks->table[k], e)
		{
			offer_pick(ret, d, picks, k, lh_entry_v(e), all);
		}
}

void offers_free(struct offers *o)
{
	for (enum list_id l = 0; l < LISTS; l++)
		json_object_put(o->names[l]);
	*o = (struct offers){ 0 };
}

json_object *offers_of(const struct offers *o, enum list_id list, const char *name)
{
	return json_object_object_get(o->names[list], name);
}
