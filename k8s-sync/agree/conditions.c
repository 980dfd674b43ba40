// SPDX-License-Identifier: GPL-2.0-or-later
/* Conditions: what an object says to people and to admission policies, which cannot look into a
 * tree. A further one is a row of rows[]. */
#include <stdio.h>
#include <string.h>

#include "agree.h"
#include "inventory.h"
#include "pcidevfs/util.h"
#include "pcidevfs/valid.h"
#include "tables.h"
#include "words.h"

/* ---- who has what */

#define GROUP "iommu_group/"
#define VF_CLAIMED "vf_claimed/"

struct usage {
	const char *reason;
	char who[ERR_TEXT];
	bool unnamed;
};

#define DRA "claim:"

/* The VM of the pod in ret, as the cluster's role has told it; the pod otherwise. */
static void name_vm(const struct world *w, const struct inv_dev *d, struct usage *ret)
{
	enum kind_id kind = wanted_usb(w, d) ? USB_DEVICE : PCI_DEVICE;
	const char *told = js_meta(object_of(w, kind, d), "annotations", POD_OF_VM);
	size_t n = strlen(ret->who), namespace = strcspn(ret->who, "/") + 1;

	if (!told || strncmp(told, ret->who, n) || told[n] != ' ' ||
	    !valid_domain(told + n + 1, strlen(told + n + 1)))
		return;
	snprintf(ret->who, sizeof(ret->who), "VM %.*s%s", (int)namespace, told, told + n + 1);
}

/* namespace/pod of namespace/pod/container, or the object of claim:UID. */
static bool has_pod(const struct world *w, const struct inv_dev *d, struct usage *ret)
{
	const char *pod = dev_get(d, "allocated_to"), *slash = strchr(pod, '/');
	size_t n = slash ? (size_t)(slash + 1 - pod) + strcspn(slash + 1, "/") : strlen(pod);

	ret->reason = "Allocated";
	ret->unnamed = !strcmp(pod, "pending");
	if (ret->unnamed)
		STR_COPY(ret->who, "a pod that kubelet has not named yet");
	else if (!strncmp(pod, DRA, strlen(DRA)))
		snprintf(ret->who, sizeof(ret->who), "the ResourceClaim with uid %.400s",
			 pod + strlen(DRA));
	else
		snprintf(ret->who, sizeof(ret->who), "%.*s", (int)n, pod);
	if (slash)
		name_vm(w, d, ret);
	return n;
}

static bool is_held(const struct inv_dev *d, struct usage *ret)
{
	ret->reason = "Held";
	STR_COPY(ret->who, dev_get(d, "reason"));
	return !strcmp(dev_get(d, "state"), "held");
}

/* The first one who is met counts. */
static void note_use(json_object *uses, const char *prefix, const char *id, const struct usage *u)
{
	char key[ERR_TEXT];
	json_object *entry;

	snprintf(key, sizeof(key), "%s%s", prefix, id);
	if (!*id || json_object_object_get_ex(uses, key, NULL))
		return;
	entry = json_object_new_object();
	js_set_text(entry, "reason", u->reason);
	js_set_text(entry, "message", u->who);
	if (u->unnamed)
		js_set(entry, "unnamed", json_object_new_boolean(true));
	json_object_object_add(uses, key, entry);
}

/* The same of another device that ends with it. */
static void note_beside(json_object *uses, const char *prefix, const char *id, const char *before,
			const struct inv_dev *d, const char *after, const struct usage *u)
{
	struct usage said = { .reason = u->reason, .unnamed = u->unnamed };

	snprintf(said.who, sizeof(said.who), "%s%.48s%s: %.400s", before, d->id, after, u->who);
	note_use(uses, prefix, id, &said);
}

json_object *conditions_uses(const struct world *w)
{
	json_object *uses = json_object_new_object();

	for (size_t i = 0; i < w->inv->n; i++) {
		const struct inv_dev *d = w->inv->v[i];
		const char *physfn = dev_get(d, "physfn"), *claim = dev_get(d, "claim");
		struct usage u = { 0 };

		if (has_pod(w, d, &u) || is_held(d, &u)) {
			note_use(uses, "", d->id, &u);
			note_beside(uses, "", physfn, "its VF ", d, "", &u);
			note_beside(uses, "", dev_get(d, "controller"), "its USB device ", d, "",
				    &u);
			note_beside(uses, "", dev_get(d, "parent"), "its vGPU ", d, "", &u);
			note_beside(uses, GROUP, dev_get(d, "iommu_group"), "", d,
				    " of its IOMMU group", &u);
		} else if (*claim) {
			u.reason = "Claimed";
			snprintf(u.who, sizeof(u.who), "claimed by %.400s", claim);
			note_beside(uses, VF_CLAIMED, physfn, "its VF ", d, "", &u);
		}
	}
	return uses;
}

/* ---- the rows */

enum row_told { ABSENT, TOLD, AS_BEFORE };

/* These states come before held in the tree's list. Nobody holds for a guest what has no claim. */
static bool hides_holder(const struct inv_dev *d)
{
	const char *state = dev_get(d, "state");

	return (!strcmp(state, "stuck") || !strcmp(state, "unhealthy")) && *dev_get(d, "claim");
}

static json_object *condition_of(json_object *o, const char *type)
{
	return js_find(js_get(o, "status.conditions"), "type", type);
}

/* May the use that the condition told of still hold? Its message names the device that is used, if
 * that is another one. A pod is told in each state but busy. */
static bool is_unclear(const struct at *at, json_object *old)
{
	bool held = !strcmp(js_text(old, "reason"), "Held");
	const char *message = js_text(old, "message");

	for (size_t i = 0; old && i < at->w->inv->n; i++) {
		const struct inv_dev *d = at->w->inv->v[i];

		if ((dev_is_busy(d) || (held && hides_holder(d))) &&
		    (d == at->dev || strstr(message, d->id)))
			return true;
	}
	return false;
}

/* The pod was named before. A new daemon reads pending until kubelet has named it again, and that
 * is no reason to write. */
static bool is_named(json_object *use, json_object *old)
{
	return js_get(use, "unnamed") && !strcmp(js_text(old, "reason"), "Allocated");
}

static json_object *use_of(const struct at *at, const char *prefix, const char *id)
{
	char key[ERR_TEXT];

	snprintf(key, sizeof(key), "%s%s", prefix, id);
	return json_object_object_get(at->w->uses, key);
}

static json_object *use_by_vf(const struct at *at, enum kind_id id)
{
	return id == NET_DEVICE ? use_of(at, VF_CLAIMED, at->dev->id) : NULL;
}

/* A claim that does not have the device may go, whoever has it. Unknown is what the cluster's role
 * makes of True while nobody hears of this node. */
static enum row_told tell_in_use(const struct at *at, enum kind_id id, const struct standing *own,
				 struct standing *ret)
{
	json_object *use = use_of(at, "", at->dev->id)
				   ?: use_of(at, GROUP, dev_get(at->dev, "iommu_group"))
				   ?: use_by_vf(at, id);
	json_object *old = condition_of(at->was, "InUse");

	if (claim_kind_of(id) && !own->holds)
		return ABSENT;
	if (strcmp(js_text(old, "status"), "True") && strcmp(js_text(old, "status"), "Unknown"))
		old = NULL;
	if (use ? is_named(use, old) : is_unclear(at, old))
		return AS_BEFORE;
	if (!use)
		return ABSENT;
	ret->holds = true;
	ret->reason = js_text(use, "reason");
	STR_COPY(ret->message, js_text(use, "message"));
	return TOLD;
}

static enum row_told tell_claimable(const struct at *at, enum kind_id id,
				    const struct standing *own, struct standing *ret)
{
	const char *says = dev_get(at->dev, "claimable");

	if (dev_is_busy(at->dev))
		return AS_BEFORE;
	ret->holds = !strcmp(says, "yes");
	ret->reason = ret->holds ? "Claimable" : "Refused";
	STR_COPY(ret->message, says);
	return *says ? TOLD : ABSENT;
}

#define BIT(kind) (1U << (kind))

/* InUse is there only while it is True: most devices never have it, and a policy that asks for a
 * condition that is True needs no other one. */
static const struct {
	const char *type;
	unsigned int kinds;
	/* NULL: it comes with the decision about the object. */
	enum row_told (*tell)(const struct at *at, enum kind_id id, const struct standing *own,
			      struct standing *ret);
} rows[] = {
	{ .type = "Claimed" },
	{ .type = "Applied" },
	{ .type = "Released" },
	{ .type = "Present" },
	{ "InUse",
	  BIT(PCI_DEVICE) | BIT(PCI_CLAIM) | BIT(NET_DEVICE) | BIT(GPU_DEVICE) | BIT(VGPU_DEVICE) |
		  BIT(USB_DEVICE) | BIT(USB_CLAIM),
	  tell_in_use },
	{ "Claimable", BIT(PCI_DEVICE) | BIT(USB_DEVICE), tell_claimable },
};

/* The time is that of the last change of its status word. */
static json_object *condition_new(const struct at *at, const struct standing *s)
{
	const char *status = s->holds ? "True" : "False", *time = at->w->now;
	json_object *c = json_object_new_object(), *old = condition_of(at->was, s->type);
	_free_ char *message = words_for_cluster(s->message);

	if (!strcmp(js_text(old, "status"), status) && *js_text(old, "lastTransitionTime"))
		time = js_text(old, "lastTransitionTime");
	js_set_text(c, "type", s->type);
	js_set_text(c, "status", status);
	js_set_text(c, "reason", s->reason);
	js_set_text(c, "message", message ?: s->message);
	js_set_text(c, "lastTransitionTime", time);
	return c;
}

static void add_row(json_object *all, size_t r, const struct at *at, enum kind_id id,
		    const struct standing *own)
{
	struct standing s = { .type = rows[r].type };
	json_object *old = condition_of(at->was, s.type);
	enum row_told told = rows[r].tell(at, id, own, &s);

	if (told == TOLD)
		json_object_array_add(all, condition_new(at, &s));
	else if (told == AS_BEFORE && old)
		json_object_array_add(all, json_object_get(old));
}

void conditions_add(json_object *want, const struct at *at, enum kind_id id,
		    const struct standing *own)
{
	json_object *all = json_object_new_array();

	if (own->type)
		json_object_array_add(all, condition_new(at, own));
	for (size_t r = 0; r < ARRAY_SIZE(rows); r++)
		if (rows[r].tell && at->dev && rows[r].kinds & BIT(id))
			add_row(all, r, at, id, own);
	if (js_length(all))
		js_set(want, "status.conditions", all);
	else
		json_object_put(all);
}

/* One of ours that the object shall not have any more. */
static bool is_over(json_object *condition, json_object *want)
{
	const char *type = js_text(condition, "type");

	for (size_t r = 0; r < ARRAY_SIZE(rows); r++)
		if (!strcmp(type, rows[r].type))
			return !condition_of(want, type);
	return false;
}

bool conditions_stale(json_object *was, json_object *want)
{
	json_object *all = js_get(was, "status.conditions");

	for (size_t i = 0; i < js_length(all); i++)
		if (is_over(json_object_array_get_idx(all, i), want))
			return true;
	return false;
}

json_object *conditions_left(json_object *was, json_object *want)
{
	json_object *all = js_get(was, "status.conditions"), *left = NULL;

	for (size_t i = 0; i < js_length(all); i++) {
		json_object *c = json_object_array_get_idx(all, i);

		if (is_over(c, want))
			continue;
		left = left ?: json_object_new_array();
		json_object_array_add(left, json_object_get(c));
	}
	return left;
}
