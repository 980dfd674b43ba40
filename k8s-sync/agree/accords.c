// SPDX-License-Identifier: GPL-2.0-or-later
#include "accords.h"

#include <errno.h>
#include <string.h>

#include "accord.h"
#include "inventory.h"
#include "pcidevfs/key.h"
#include "pcidevfs/util.h"

#define CLAIM_NOTE NOTE_PREFIX "claim"

/* ---- a device and its claim, as both sides have it */

struct claim {
	const struct world *w;
	const struct inv_dev *dev;
	char name[OBJECT_NAME];
	json_object *device, *object; /* NULL: not there */
	bool vague;		      /* the object contradicts itself, and counts for nothing */
	char cluster[ACCORD_VALUE], about[80];
	const char *tree, *note;
	struct accord accord;
	uint64_t seen;
	const struct verdict *verdict; /* about what is seen now */
};

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

/* Both ways to find the device must lead to the same one. */
static int check_claim(const struct world *w, json_object *o, struct err *err)
{
	const char *name = js_text(o, "metadata.name"), *address = js_text(o, "spec.address");
	const struct inv_dev fake = { .id = (char *)address };
	json_object *owners = js_get(o, "metadata.ownerReferences");
	char should[OBJECT_NAME];
	struct pci_addr addr;

	if (!pci_addr_parse(address, &addr))
		return fail(
			err, EINVAL,
			"spec.address: \"%.64s\" is not a PCI address; write for example 0000:05:00.0",
			address);
	object_name(w, &fake, should);
	if (strcmp(should, name))
		return fail(err, EINVAL,
			    "metadata.name: the claim of %s on node %s must be called %s", address,
			    w->node, should);
	for (size_t i = 0;
	     json_object_is_type(owners, json_type_array) && i < json_object_array_length(owners);
	     i++) {
		json_object *owner = json_object_array_get_idx(owners, i);

		if (!strcmp(js_text(owner, "kind"), "PCIDevice") &&
		    strcmp(js_text(owner, "name"), name))
			return fail(
				err, EINVAL,
				"metadata.ownerReferences: the claim is owned by PCIDevice %.128s, but spec.address is %s",
				js_text(owner, "name"), address);
	}
	return 0;
}

const struct verdict *verdict_about(const struct world *w, const char *about)
{
	const struct verdict *v = w->verdicts;

	while (v && strcmp(v->about, about))
		v = v->next;
	return v;
}

static void look(const struct world *w, const struct inv_dev *d, struct claim *c)
{
	json_object *o;

	*c = (struct claim){ .w = w, .dev = d, .tree = dev_get(d, "claim") };
	if (!*c->tree)
		c->tree = "none";
	object_name(w, d, c->name);
	c->device = object_find(w, PCI_DEVICE, c->name);
	c->object = o = object_find(w, PCI_CLAIM, c->name);
	c->vague = o && check_claim(w, o, NULL);
	STR_COPY(c->cluster, "none");
	if (o && !object_is_deleted(o))
		claim_value(js_text(o, "spec.userName"), c->cluster, sizeof(c->cluster));
	c->note = js_meta(c->device, "annotations", CLAIM_NOTE);
	accord_decide(c->note, c->tree, c->cluster, &c->accord);
	snprintf(c->about, sizeof(c->about), "%s/claim", d->id);
	c->seen = fnv1a(dev_hash(d), c->cluster, strlen(c->cluster));
	c->verdict = verdict_about(w, c->about);
	if (c->verdict && c->verdict->seen != c->seen && !c->verdict->running)
		c->verdict = NULL;
}

/* ---- what is done */

static void ask_tree(const struct claim *c, const char *about, uint64_t seen, struct out *lines,
		     struct action **list)
{
	struct action *a = action_add(list, ACT_CTL, PCI_CLAIM, c->name,
				      json_object_get(c->object ? c->object : c->device));

	if (!a) {
		out_free(lines);
		return;
	}
	STR_COPY(a->about, about);
	a->seen = seen;
	a->lines = lines->data;
}

static void claim_in_tree(const struct claim *c, struct action **list)
{
	bool ends_vgpu = !strcmp(dev_get(c->dev, "kind"), "vgpu") && !strcmp(c->cluster, "none");
	struct out lines = { 0 };

	if (c->verdict)
		return;
	if (ends_vgpu)
		out_printf(&lines, "%s/profile none\n", c->dev->id);
	else
		out_printf(&lines, "%s/claim %s\n", c->dev->id, c->cluster);
	ask_tree(c, c->about, c->seen, &lines, list);
}

static json_object *new_claim(const struct claim *c)
{
	const struct at at = { .w = c->w, .dev = c->dev };
	json_object *o = want_main(&at, &kinds[PCI_CLAIM], c->name);

	object_fill(o, &kinds[PCI_CLAIM], SPEC, &at);
	object_own(o, GROUP_VERSION, "PCIDevice", c->name, js_text(c->device, "metadata.uid"));
	return o;
}

json_object *patch_of(json_object *o)
{
	json_object *patch = json_object_new_object();

	js_set(patch, "metadata.resourceVersion",
	       json_object_new_string(js_text(o, "metadata.resourceVersion")));
	return patch;
}

static void claim_in_cluster(const struct claim *c, struct action **list)
{
	json_object *patch;

	if (!c->object) {
		action_add(list, ACT_CREATE, PCI_CLAIM, c->name, new_claim(c));
		return;
	}
	if (object_is_deleted(c->object))
		return;
	if (!strcmp(c->tree, "none")) {
		action_add(list, ACT_DELETE, PCI_CLAIM, c->name, delete_body(c->object));
		return;
	}
	patch = patch_of(c->object);
	js_set(patch, "spec.userName", json_object_new_string(c->tree));
	action_add(list, ACT_PATCH, PCI_CLAIM, c->name, patch);
}

static void write_note(const struct claim *c, struct action **list)
{
	const struct at at = { .w = c->w, .dev = c->dev, .was = c->device };
	json_object *want = want_main(&at, &kinds[PCI_DEVICE], c->name), *m;
	char text[ERR_TEXT];

	if (*c->accord.note)
		js_set_meta(want, "annotations", CLAIM_NOTE, c->accord.note);
	else if (json_object_object_get_ex(js_get(want, "metadata"), "annotations", &m))
		json_object_object_del(m, CLAIM_NOTE);
	action_add(list, ACT_APPLY, PCI_DEVICE, c->name, want);
	if (!c->accord.overruled)
		return;
	snprintf(
		text, sizeof(text),
		"the claim of %s was changed in the tree to %.100s and in the cluster to %.100s; the cluster's counts",
		c->dev->id, c->tree, c->cluster);
	action_event(list, PCI_DEVICE, c->device, "Overruled", text);
}

/* The name under which the device alone is offered: spec.disableResourcePooling asks for it. */
static void name_alone(const struct claim *c, struct action **list)
{
	const char *has = dev_get(c->dev, "resource_name"), *slash = strchr(has, '/');
	bool alone = slash && !strcmp(slash + 1, c->name);
	bool asked = c->object && strcmp(c->cluster, "none") &&
		     json_object_get_boolean(js_get(c->object, "spec.disableResourcePooling"));
	const struct verdict *v;
	struct out lines = { 0 };
	char about[80];
	uint64_t seen = fnv1a(c->seen, asked ? "1" : "0", 1);

	if (!slash || alone == asked)
		return;
	snprintf(about, sizeof(about), "%s/resource_name", c->dev->id);
	v = verdict_about(c->w, about);
	if (v && (v->running || v->seen == seen))
		return;
	if (asked)
		out_printf(&lines, "%s %.*s/%s\n", about, (int)(slash - has), has, c->name);
	else
		out_printf(&lines, "%s none\n", about);
	ask_tree(c, about, seen, &lines, list);
}

static void claim_decide(const struct claim *c, struct action **list)
{
	if (!c->device || c->vague)
		return;
	switch (c->accord.what) {
	case ACCORD_NOTE:
		write_note(c, list);
		break;
	case ACCORD_TO_TREE:
		claim_in_tree(c, list);
		break;
	case ACCORD_TO_CLUSTER:
		claim_in_cluster(c, list);
		break;
	case ACCORD_REST:
		name_alone(c, list);
	}
}

/* ---- what is said about it */

static void stands(struct standing *s, bool holds, const char *reason, const char *message)
{
	s->type = "Claimed";
	s->holds = holds;
	s->reason = reason;
	STR_COPY(s->message, message);
}

/* Leaves ret without a type while something is under way. */
static void claim_standing(const struct world *w, json_object *o, const struct claim *c,
			   struct standing *ret)
{
	struct err err = { 0 };

	if (check_claim(w, o, &err)) {
		stands(ret, false, "Invalid", err.text);
	} else if (!c->dev) {
		fail(&err, ENODEV, "node %s has no PCI function %s", w->node,
		     js_text(o, "spec.address"));
		stands(ret, false, "NoDevice", err.text);
	} else if (c->accord.agreed) {
		stands(ret, true, "Claimed", dev_get(c->dev, "reason"));
	} else if (!kinds[PCI_DEVICE].wanted(w, c->dev)) {
		stands(ret, false, "Refused", dev_get(c->dev, "claimable"));
	} else if (c->verdict && c->verdict->err.code) {
		stands(ret, false, "Refused", c->verdict->err.text);
	}
}

#define LEGACY_FINALIZER "wrangler.cattle.io/PCIDeviceClaimOnRemove"

/* Nobody else will remove it: a deletion never waits for hardware. */
static void strip_finalizer(json_object *o, struct action **list)
{
	json_object *all = js_get(o, "metadata.finalizers"), *rest, *patch;
	bool found = false;

	if (!json_object_is_type(all, json_type_array))
		return;
	rest = json_object_new_array();
	for (size_t i = 0; i < json_object_array_length(all); i++) {
		json_object *f = json_object_array_get_idx(all, i);
		const char *text = json_object_get_string(f);

		if (text && !strcmp(text, LEGACY_FINALIZER))
			found = true;
		else
			json_object_array_add(rest, json_object_get(f));
	}
	if (!found) {
		json_object_put(rest);
		return;
	}
	patch = patch_of(o);
	js_set(patch, "metadata.finalizers", rest);
	action_add(list, ACT_PATCH, PCI_CLAIM, js_text(o, "metadata.name"), patch);
}

static void complete_claim(const struct world *w, json_object *o, struct action **list)
{
	const struct inv_dev *d = inventory_find(w->inv, js_text(o, "spec.address"));
	struct at at = { .w = w, .dev = d, .was = o };
	struct standing s = { 0 };
	struct claim c = { 0 };

	if (object_is_deleted(o)) {
		strip_finalizer(o, list);
		return;
	}
	if (d && !check_claim(w, o, NULL)) {
		json_object *want = want_main(&at, &kinds[PCI_CLAIM], js_text(o, "metadata.name"));

		look(w, d, &c);
		if (!js_covers(o, want))
			action_add(list, ACT_APPLY, PCI_CLAIM, c.name, json_object_get(want));
		json_object_put(want);
	} else {
		at.dev = NULL;
	}
	claim_standing(w, o, &c, &s);
	if (s.type)
		ensure_status(&at, PCI_CLAIM, &s, list);
}

/* A claim that was deleted and whose device could not be released stands at the PCIDevice. */
void accords_standing(const struct at *at, enum kind_id kind, struct standing *ret)
{
	struct claim c;

	values_standing(at, kind, ret);
	if (kind != PCI_DEVICE || !at->w->listed[PCI_CLAIM])
		return;
	look(at->w, at->dev, &c);
	if (c.accord.agreed || strcmp(c.cluster, "none") || !c.verdict || !c.verdict->err.code)
		return;
	stands(ret, false, "Refused", c.verdict->err.text);
	ret->type = "Released";
}

bool accords_make(const struct world *w, enum kind_id kind, const struct inv_dev *d)
{
	return kind == PCI_CLAIM && kinds[PCI_DEVICE].wanted(w, d) && *dev_get(d, "claim");
}

void accords_decide(const struct world *w, struct action **list)
{
	values_decide(w, list);
	for (size_t i = 0; i < w->inv->n; i++) {
		struct claim c;

		if (!kinds[PCI_DEVICE].wanted(w, w->inv->v[i]))
			continue;
		look(w, w->inv->v[i], &c);
		claim_decide(&c, list);
	}
	if (!w->objects[PCI_CLAIM])
		return;
	json_object_object_foreach(w->objects[PCI_CLAIM], name, o)
	{
		(void)name;
		complete_claim(w, o, list);
	}
}
