// SPDX-License-Identifier: GPL-2.0-or-later
/* Claims: objects beside the device's own, whose user's name is the tree's `claim`. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agree.h"
#include "inventory.h"
#include "pcidevfs/key.h"
#include "pcidevfs/util.h"
#include "tables.h"

#define CLAIM_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:@/- "

void claim_value(const char *user, char *ret, size_t size)
{
	bool yes;
	size_t n;

	str_copy(ret, size, *user ? user : "_");
	n = strlen(ret);
	for (char *c = ret; *c; c++)
		if (!strchr(CLAIM_CHARS, *c))
			*c = '_';
	if (strchr(".- ", *ret))
		*ret = '_';
	if (ret[n - 1] == ' ')
		ret[n - 1] = '_';
	if ((!strcmp(ret, "none") || !parse_bool(ret, &yes)) && n + 1 < size)
		strcpy(ret + n, "_");
}

/* ---- PCIDeviceClaim */

json_object *claim_owner(json_object *o, enum kind_id kind)
{
	return js_find(js_get(o, "metadata.ownerReferences"), "kind", kinds[kind].kind);
}

static const struct inv_dev *pci_find(const struct world *w, json_object *o, struct err *err)
{
	const char *address = js_text(o, "spec.address");
	const struct inv_dev *d = inventory_find(w->inv, address);

	if (!d)
		fail(err, ENODEV, "node %s has no PCI function %s", w->node, address);
	return d;
}

/* Its owner and its address, or without an owner its name and its address, must be the same
 * function's; and no claim has the name of another function's. */
static int pci_check(const struct world *w, json_object *o, struct err *err)
{
	const char *name = js_text(o, "metadata.name"), *address = js_text(o, "spec.address");
	const struct inv_dev fake = { .id = (char *)address };
	const struct inv_dev *d = inventory_find(w->inv, address);
	json_object *owned = claim_owner(o, PCI_DEVICE);
	const char *owner = owned ? js_text(owned, "name") : NULL;
	char should[OBJECT_NAME];
	struct pci_addr addr;

	if (!pci_addr_parse(address, &addr))
		return fail(
			err, EINVAL,
			"spec.address: \"%.64s\" is not a PCI address; write for example 0000:05:00.0",
			address);
	object_name(w, PCI_DEVICE, &fake, should);
	if (owner && strcmp(owner, should))
		return fail(
			err, EINVAL,
			"metadata.ownerReferences: the claim is owned by PCIDevice %.128s, but spec.address is %s",
			owner, address);
	if (strcmp(name, should) && (!owner || object_is_named(w, name)))
		return fail(
			err, EINVAL,
			"metadata.name: the claim of %s on node %s must be called %s, or be owned by that PCIDevice and not have the name of another one",
			address, w->node, should);
	if (d && js_meta(o, "annotations", SKIP_BINDING) && !dev_is_vgpu(d))
		return fail(err, EINVAL,
			    "metadata.annotations: " SKIP_BINDING
			    " is for vGPUs, but %s is not one; without it the claim binds it",
			    address);
	return 0;
}

static enum meant pci_means(const struct world *w, json_object *o)
{
	if (pci_check(w, o, NULL) || !inventory_find(w->inv, js_text(o, "spec.address")))
		return MEANT_NONE;
	return object_is_named(w, js_text(o, "metadata.name")) ? MEANT_BY_NAME : MEANT_BY_ADDRESS;
}

const struct claim_kind claims_pci = {
	.device = PCI_DEVICE,
	.claim = PCI_CLAIM,
	.finalizer = "wrangler.cattle.io/PCIDeviceClaimOnRemove",
	.find = pci_find,
	.check = pci_check,
	.means = pci_means,
	.by_address = true,
	.named = object_is_named,
};

json_object *claims_odd(const struct world *w)
{
	json_object *odd = json_object_new_object();

	if (!w->objects[PCI_CLAIM])
		return odd;
	json_object_object_foreach(w->objects[PCI_CLAIM], name, o)
	{
		const char *address = js_text(o, "spec.address");

		if (object_is_named(w, name) || pci_check(w, o, NULL))
			continue;
		if (!json_object_object_get_ex(odd, address, NULL))
			json_object_object_add(odd, address, json_object_get(o));
	}
	return odd;
}

/* ---- a device's claim */

enum claim_whose claim_whose(const struct value *v)
{
	if (!v->claim || object_is_deleted(v->claim))
		return WHOSE_USERS;
	if (writers_is_us(v->claim, WRITTEN_USER))
		return WHOSE_OURS;
	return note_uid(v) && note_is_old(v) ? WHOSE_ANEW : WHOSE_USERS;
}

bool claim_look(struct value *v)
{
	const struct claim_kind *k = v->row->claim;
	json_object *named = object_find(v->w, k->claim, v->name), *odd = NULL, *had;

	if (named && !k->check(v->w, named, NULL))
		v->claim = named;
	else if (json_object_object_get_ex(v->w->odd, v->dev->id, &odd))
		v->claim = odd;
	else if (named)
		return false;
	STR_COPY(v->cluster, "none");
	STR_COPY(v->had, "none");
	had = v->claim ?: json_object_object_get(v->w->left[k->claim], v->name);
	if (had)
		claim_value(js_text(had, "spec.userName"), v->had, sizeof(v->had));
	if (v->claim && !object_is_deleted(v->claim))
		STR_COPY(v->cluster, v->had);
	return true;
}

bool claim_is_missed(const struct world *w, enum kind_id kind, json_object *o)
{
	const struct claim_kind *k = claim_kind_of(kind);
	json_object *device = k ? object_find(w, k->device, js_text(o, "metadata.name")) : NULL;
	const char *note = js_meta(device, "annotations", NOTE_PREFIX "claim");
	const char *to = note ? strchr(note, '<') : NULL;
	char user[ACCORD_VALUE];

	claim_value(js_text(o, "spec.userName"), user, sizeof(user));
	return to && !strcmp(to + 1, user);
}

void claim_to_cluster(const struct value *v, struct actions *list)
{
	enum kind_id id = v->row->claim->claim;
	const struct at at = { .w = v->w, .dev = v->dev };
	const char *name = js_text(v->claim, "metadata.name");
	json_object *o;

	if (!v->claim) {
		o = want_new(&at, id, v->name);
		js_set_text(o, "spec.userName", group_user(v));
		action_add(list, ACT_CREATE, id, v->name, o);
		return;
	}
	if (object_is_deleted(v->claim))
		return;
	if (!strcmp(v->tree, "none")) {
		action_add(list, ACT_DELETE, id, name, delete_body(v->claim));
		return;
	}
	o = patch_of(v->claim);
	js_set_text(o, "spec.userName", group_user(v));
	alone_to_cluster(v, o);
	action_add(list, ACT_PATCH, id, name, o);
}

const struct claim_kind *claim_kind_of(enum kind_id kind)
{
	for (size_t r = 0; r < n_value_rows; r++)
		if (value_rows[r].claim && value_rows[r].claim->claim == kind)
			return value_rows[r].claim;
	return NULL;
}

bool claims_make(const struct world *w, enum kind_id kind, const struct inv_dev *d)
{
	const struct claim_kind *k = claim_kind_of(kind);

	return k && kinds[k->device].wanted(w, d) && *dev_get(d, "claim");
}

/* ---- a device that is away */

/* What the tree has stored about it; what it knows nothing of is forgotten. */
static bool is_forgotten(const struct verdict *v)
{
	return v && !v->running && v->seen == SEEN_AWAY && (!v->err.code || v->err.code == EINVAL);
}

bool claims_forget(const struct world *w, enum kind_id kind, json_object *o, struct actions *list)
{
	const char *name = js_text(o, "metadata.name");
	const char *id = kind == USB_DEVICE ? js_meta(o, "annotations", USB_PORT)
					    : js_text(o, "status.address");

	for (size_t r = 0; r < n_value_rows && id && *id; r++) {
		const struct value v = { .w = w, .row = &value_rows[r], .object = o };
		const struct claim_kind *k = v.row->claim;
		struct out lines = { 0 };
		char about[80];

		if (v.row->kind != kind || !k || !w->listed[k->claim] || w->left_out[k->claim] ||
		    !js_meta(o, "annotations", NOTE_PREFIX "claim") ||
		    object_find(w, k->claim, name) || json_object_object_get(w->odd, id))
			continue;
		snprintf(about, sizeof(about), "%.60s/claim", id);
		if (is_forgotten(verdict_about(w, about)))
			return true;
		out_printf(&lines, "forget %.60s\n", id);
		ask_tree(&v, about, SEEN_AWAY, &lines, list);
	}
	return false;
}

/* ---- what is said about it */

static int stands(struct standing *s, const char *reason, const char *message)
{
	*s = (struct standing){ .type = "Claimed", .reason = reason };
	STR_COPY(s->message, message);
	return 0;
}

/* Leaves ret without a type while something is under way. */
static void claim_standing(const struct value *v, json_object *o, struct standing *ret)
{
	char text[ERR_TEXT];

	if (v->claim != o) {
		snprintf(text, sizeof(text), "%s is the claim of %s already",
			 js_text(v->claim, "metadata.name"), v->dev->id);
		stands(ret, "Refused", text);
	} else if (v->accord.agreed) {
		stands(ret, "Claimed", dev_get(v->dev, "reason"));
		ret->holds = true;
	} else if (v->verdict && v->verdict->err.code) {
		stands(ret, "Refused", v->verdict->err.text);
	} else if (late_is(v, text)) {
		stands(ret, "Pending", text);
	}
}

/* Nobody else will remove it: a deletion never waits for hardware. */
static void strip_finalizer(const struct claim_kind *k, json_object *o, struct actions *list)
{
	json_object *all = js_get(o, "metadata.finalizers"), *rest, *patch;

	if (!js_find(all, "", k->finalizer))
		return;
	rest = json_object_new_array();
	for (size_t i = 0; i < js_length(all); i++) {
		json_object *f = json_object_array_get_idx(all, i);

		if (strcmp(js_text(f, ""), k->finalizer))
			json_object_array_add(rest, json_object_get(f));
	}
	patch = patch_of(o);
	js_set(patch, "metadata.finalizers", rest);
	action_add(list, ACT_PATCH, k->claim, js_text(o, "metadata.name"), patch);
}

/* Its name is that of another node's object, which that node alone may write
 * (deploy/kubernetes/rbac.yaml). */
static bool is_anothers(const struct world *w, const struct claim_kind *k, const char *name)
{
	const char *dash = strrchr(name, '-');
	size_t n = dash ? strspn(dash + 1, "0123456789abcdef") : 0;

	return k->by_address && !k->named(w, name) && n >= 9 && n <= 13 && !dash[1 + n];
}

static void complete(const struct world *w, const struct value_row *row, json_object *o,
		     struct actions *list)
{
	const struct claim_kind *k = row->claim;
	const char *name = js_text(o, "metadata.name");
	struct at at = { .w = w, .was = o };
	_json_ json_object *want = NULL;
	struct standing s = { 0 };
	struct err err = { 0 };
	bool foreign = is_anothers(w, k, name), told = false; /* by its verdict */
	struct value v;

	if (object_is_deleted(o)) {
		strip_finalizer(k, o, list);
		return;
	}
	if (k->check(w, o, &err)) {
		stands(&s, "Invalid", err.text);
	} else if (!(at.dev = k->find(w, o, &err))) {
		stands(&s, "NoDevice", err.text);
	} else if (value_look(w, row, at.dev, &v)) {
		claim_standing(&v, o, &s);
		told = v.claim == o;
	} else if (!kinds[k->device].wanted(w, at.dev)) {
		unwanted_why(w, at.dev, err.text);
		stands(&s, "Refused", err.text);
	}
	/* Of thousands of claims not each can be an Event: only where it cannot be a condition. */
	if (s.type && !told && (foreign || !kind_tells(w, k->claim)))
		event_add(list, ACT_EVENT, k->claim, o, s.reason, s.message);
	if (foreign)
		return;
	/* Without a device it gets the Node as its owner, and goes with it. */
	want = want_main(&at, k->claim, name);
	if (!js_covers(o, want))
		action_add(list, ACT_APPLY, k->claim, name, json_object_get(want));
	if (s.type)
		ensure_status(&at, k->claim, &s, list);
}

void claims_complete(const struct world *w, const struct value_row *row, struct actions *list)
{
	json_object_object_foreach(w->objects[row->claim->claim], name, o)
	{
		(void)name;
		complete(w, row, o, list);
	}
}
