// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include "agree.h"
#include "inventory.h"
#include "pcidevfs/util.h"
#include "tables.h"

/* No device number of the kernel's is above 127. */
enum { ABOVE = 500 };

/* ---- which and how it is called */

/* All but root hubs. */
bool wanted_usb(const struct world *w, const struct inv_dev *d)
{
	return !strncmp(d->id, "usb/", 4) && strncmp(d->id, "usb/usb", 7);
}

/* What follows NODE- in the name of a USB device of this node; NULL. */
static const char *usb_part(const struct world *w, const char *name)
{
	static const char form[] = "xxxx-xxxx-dddddd";
	size_t n = strlen(w->node);

	if (strncmp(name, w->node, n) || name[n] != '-' || strlen(name + n + 1) != strlen(form))
		return NULL;
	name += n + 1;
	for (size_t i = 0; form[i]; i++)
		if (form[i] == '-' ? name[i] != '-'
				   : !strchr(form[i] == 'x' ? "0123456789abcdef" : "0123456789",
					     name[i]))
			return NULL;
	return name;
}

bool ours_usb(const struct world *w, json_object *o)
{
	const char *label = js_meta(o, "labels", "nodename");

	return label ? !strcmp(label, w->node) : usb_part(w, js_text(o, "metadata.name")) != NULL;
}

static unsigned int number_of(const struct inv_dev *d, const char *key)
{
	uint64_t n;

	return parse_u64(dev_get(d, key), 999, &n) ? 0 : (unsigned int)n;
}

/* Can the name be one of this device, whatever is agreed about it? */
static bool has_ids(const struct world *w, const struct inv_dev *d, const char *name)
{
	char ids[OBJECT_NAME];
	int n = snprintf(ids, sizeof(ids), "%.220s-%.4s-%.4s-", w->node, dev_get(d, "vendor"),
			 dev_get(d, "device"));

	return wanted_usb(w, d) && !strncmp(name, ids, (size_t)n);
}

/* May the object be about a device with the ids and the serial number of d? */
static bool is_like(const struct world *w, json_object *o, const struct inv_dev *d)
{
	const char *name = js_text(o, "metadata.name");

	return usb_part(w, name) && has_ids(w, d, name) &&
	       !strcmp(js_meta(o, "annotations", USB_SERIAL) ?: "", dev_get(d, "serial"));
}

/* Is something agreed in the object about d? It is at its port; or elsewhere, by its serial number,
 * while another one or none is there: as the tree's intents follow a device. */
static bool usb_about(const struct world *w, json_object *o, const struct inv_dev *d)
{
	const char *port = js_meta(o, "annotations", USB_PORT);
	const struct inv_dev *there;

	if (!port || !values_keep(w, USB_DEVICE, o) || !is_like(w, o, d))
		return false;
	if (!strcmp(port, d->id))
		return true;
	there = inventory_find(w->inv, port);
	return *dev_get(d, "serial") && !(there && is_like(w, o, there));
}

static void new_name(const struct world *w, const struct inv_dev *d, unsigned int above,
		     char ret[static OBJECT_NAME])
{
	snprintf(ret, OBJECT_NAME, "%.220s-%.4s-%.4s-%03u%03u", w->node, dev_get(d, "vendor"),
		 dev_get(d, "device"), number_of(d, "busnum"), number_of(d, "devnum") + above);
}

bool name_usb(const struct world *w, const struct inv_dev *d, char ret[static OBJECT_NAME])
{
	json_object *has, *taken;

	if (!wanted_usb(w, d))
		return false;
	has = object_about(w, USB_DEVICE, usb_about, d);
	if (has) {
		str_copy(ret, OBJECT_NAME, js_text(has, "metadata.name"));
		return true;
	}
	new_name(w, d, 0, ret);
	/* The numbers may be those that another one had when it was claimed. */
	taken = object_find(w, USB_DEVICE, ret);
	if (js_meta(taken, "annotations", USB_PORT) && values_keep(w, USB_DEVICE, taken))
		new_name(w, d, ABOVE, ret);
	return true;
}

/* ---- converters */

static const struct {
	const char *code, *name;
} classes[] = {
	{ "01", "Audio" },
	{ "02", "Communications" },
	{ "03", "HID" },
	{ "05", "Physical" },
	{ "06", "Image" },
	{ "07", "Printer" },
	{ "08", "Mass Storage" },
	{ "09", "Hub" },
	{ "0a", "CDC-Data" },
	{ "0b", "Smart Card" },
	{ "0d", "Content Security" },
	{ "0e", "Video" },
	{ "0f", "Personal Healthcare" },
	{ "10", "Audio/Video" },
	{ "11", "Billboard" },
	{ "12", "USB Type-C Bridge" },
	{ "13", "USB Bulk Display Protocol" },
	{ "14", "MCTP over USB" },
	{ "3c", "I3C Device" },
	{ "dc", "Diagnostic" },
	{ "e0", "Wireless Controller" },
	{ "ef", "Miscellaneous" },
	{ "fe", "Application Specific" },
	{ "ff", "Vendor Specific" },
};

/* Harvester's words (spec/harvester.md 4.10). */
json_object *conv_usb_class(const struct at *at, const char *value)
{
	char unknown[24];

	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		if (!strncmp(value, classes[i].code, 2))
			return conv_text(at, classes[i].name);
	snprintf(unknown, sizeof(unknown), "Unknown (0x%.2s)", value);
	return conv_text(at, unknown);
}

json_object *conv_usb_path(const struct at *at, const char *value)
{
	char path[40];

	snprintf(path, sizeof(path), "/dev/bus/usb/%03u/%03u", number_of(at->dev, "busnum"),
		 number_of(at->dev, "devnum"));
	return conv_text(at, path);
}

json_object *conv_usb_resource(const struct at *at, const char *value)
{
	char name[OBJECT_NAME], resource[OBJECT_NAME + 16];

	name_usb(at->w, at->dev, name);
	snprintf(resource, sizeof(resource), "kubevirt.io/%s", name);
	return conv_text(at, resource);
}

json_object *conv_usb_kept(const struct at *at, const char *value)
{
	return values_keep(at->w, USB_DEVICE, at->was) ? conv_text(at, value) : NULL;
}

/* ---- USBDeviceClaim: it is named as its device's object */

static const struct inv_dev *usb_find(const struct world *w, json_object *o, struct err *err)
{
	const char *claim = js_text(o, "metadata.name");
	char name[OBJECT_NAME];

	for (size_t i = 0; i < w->inv->n; i++)
		if (has_ids(w, w->inv->v[i], claim) && name_usb(w, w->inv->v[i], name) &&
		    !strcmp(name, claim))
			return w->inv->v[i];
	fail(err, ENODEV, "node %s has no USB device called %.200s now", w->node, claim);
	return NULL;
}

static int usb_check(const struct world *w, json_object *o, struct err *err)
{
	const char *name = js_text(o, "metadata.name");
	json_object *owned = claim_owner(o, USB_DEVICE);
	const char *owner = owned ? js_text(owned, "name") : name;

	if (!usb_part(w, name))
		return fail(err, EINVAL,
			    "metadata.name: \"%.200s\" is not the name of a USBDevice of node %s",
			    name, w->node);
	if (strcmp(owner, name))
		return fail(
			err, EINVAL,
			"metadata.ownerReferences: the claim %.200s is owned by USBDevice %.128s; both must have one name",
			name, owner);
	return 0;
}

static enum meant usb_means(const struct world *w, json_object *o)
{
	const char *claim = js_text(o, "metadata.name");
	char name[OBJECT_NAME];

	if (usb_check(w, o, NULL))
		return MEANT_NONE;
	if (object_find(w, USB_DEVICE, claim))
		return MEANT_BY_NAME;
	for (size_t i = 0; i < w->inv->n; i++) {
		if (!has_ids(w, w->inv->v[i], claim))
			continue;
		for (unsigned int above = 0; above <= ABOVE; above += ABOVE) {
			new_name(w, w->inv->v[i], above, name);
			if (!strcmp(name, claim))
				return MEANT_BY_NAME;
		}
	}
	return MEANT_NONE;
}

static bool usb_named(const struct world *w, const char *name)
{
	return usb_part(w, name) != NULL;
}

const struct claim_kind claims_usb = {
	.device = USB_DEVICE,
	.claim = USB_CLAIM,
	.finalizer = "wrangler.cattle.io/usbClaimClient-device-claim-remove",
	.find = usb_find,
	.check = usb_check,
	.means = usb_means,
	.named = usb_named,
};
