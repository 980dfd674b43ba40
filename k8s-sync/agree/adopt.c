// SPDX-License-Identifier: GPL-2.0-or-later
/* Adoption: a claim that the tree does not have yet may be older than the tree. Another
 * controller has bound the device then, and offered it; what its objects tell of that goes to the
 * tree with the claim, in one transaction: the driver to go back to, and the name that VMs and
 * kubelet have. Anybody who may write these objects may have written that: the tree checks it
 * again. */
#include <string.h>

#include "agree.h"
#include "inventory.h"
#include "pcidevfs/util.h"
#include "pcidevfs/valid.h"
#include "tables.h"

static const char *override_of(const struct at *at)
{
	return js_meta(at->was, "annotations", RESOURCE_OVERRIDE) ?: "";
}

static json_object *claim_for(const struct at *at)
{
	struct value v;

	for (size_t r = 0; r < n_value_rows; r++)
		if (value_rows[r].claim == &claims_pci &&
		    value_look(at->w, &value_rows[r], at->dev, &v))
			return strcmp(v.cluster, "none") ? v.claim : NULL;
	return NULL;
}

const char *adopt_name(const struct at *at)
{
	const char *name = js_text(at->was, "status.resourceName");

	if (!strcmp(name, dev_get(at->dev, "resource_name")) || !valid_resource(name) ||
	    *override_of(at) || writers_is_us(at->was, WRITTEN_RESOURCE) ||
	    *dev_get(at->dev, "resource_override") || *dev_get(at->dev, "claim") ||
	    dev_is_vgpu(at->dev) || alone_is_name(at->w, &claims_pci, name) || !object_is_same(at))
		return "";
	return claim_for(at) ? name : "";
}

static bool is_enabled(json_object *claim)
{
	return json_object_get_boolean(js_get(claim, "status.passthroughEnabled"));
}

/* The driver that the device had when it was bound by others; "none": nobody knows, but they had
 * bound it for this claim. The line tells the tree that it is no new one, so that a VM that has the
 * device is not in its way: of a device that is in use it has to be the claim's. `asked` is the one
 * of the group that the tree is asked for. */
static const char *driver_for(const struct at *at, json_object *asked)
{
	json_object *claim = claim_for(at);
	bool enabled = is_enabled(asked) || is_enabled(claim);
	const char *const told[] = {
		js_meta(at->was, "annotations", FIRST_DRIVER) ?: "",
		js_text(claim, "status.kernelDriverToUnbind"),
	};

	if (!driver_is_vfio(dev_get(at->dev, "driver")) || !object_is_same(at) ||
	    (!enabled && strcmp(dev_get(at->dev, "state"), "free")))
		return "";
	for (size_t i = 0; i < ARRAY_SIZE(told); i++)
		if (valid_driver(told[i]) && !driver_is_vfio(told[i]))
			return told[i];
	return enabled ? "none" : "";
}

const char *adopt_override(const struct at *at)
{
	const char *name = override_of(at);
	const char *note = js_meta(at->was, "annotations", NOTE_PREFIX "resource_name");
	bool agreed = note && !strchr(note, '>');

	return agreed || !valid_resource(name) ||
			       !strcmp(name, dev_get(at->dev, "resource_override"))
		       ? ""
		       : name;
}

static void put(struct out *lines, const struct inv_dev *d, const char *file, const char *value)
{
	if (*value)
		out_printf(lines, "%s/%s %s\n", d->id, file, value);
}

void adopt_to_tree(const struct value *v, bool named, struct out *lines)
{
	const struct inventory *inv = v->w->inv;

	for (size_t i = 0; i < inv->n; i++) {
		const struct at at = { v->w, inv->v[i], object_of(v->w, PCI_DEVICE, inv->v[i]) };
		bool self = at.dev == v->dev;

		if (!(self || dev_is_one_group(at.dev, v->dev)) || *dev_get(at.dev, "claim") ||
		    dev_is_vgpu(at.dev) || !kinds[PCI_DEVICE].wanted(at.w, at.dev))
			continue; /* a vGPU has the name of its type, and is not bound */
		put(lines, at.dev, "former_driver", driver_for(&at, v->claim));
		if (self && named)
			continue;
		put(lines, at.dev, "resource_name", adopt_override(&at));
		put(lines, at.dev, "offered_as", adopt_name(&at));
	}
}

/* "0000:05:00.0/offered_as: SENTENCE". A device that is busy with another operation is refused
 * under any line that is about it: that passes. */
static bool is_for_adoption(const char *text)
{
	static const char *const files[] = { "/former_driver: ", "/offered_as: ",
					     "/resource_name: " };
	const char *end = strstr(text, ": "), *file;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if ((file = strstr(text, files[i])) && file < end)
			return !strstr(end, " is busy: ");
	return false;
}

void adopt_heed(struct verdict *v)
{
	if (!v->err.code || v->plain == v->seen || !is_for_adoption(v->err.text))
		return;
	v->plain = v->seen;
	v->seen = 0;
}
