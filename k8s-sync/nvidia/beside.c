// SPDX-License-Identifier: GPL-2.0-or-later
#include "beside.h"

#include <stdio.h>
#include <string.h>

#include "client/inventory.h"
#include "k8s-sync/agree/inventory.h"

#define DEPLOY "nvidia.com/gpu.deploy."
#define NOTE NOTE_PREFIX "gpu.deploy"

/* Values of spec/peers.md 4.9. A pod of a component runs where its label is RUNS, and nowhere else;
 * the operator keeps each value that is not empty. */
#define RUNS "true"
#define AWAY "false"
#define PAUSED "paused-for-vgpu-change"

/* Whose work is ours by the labels that we heed, and by no others. */
static bool is_plugin_ours(const struct beside_case *c, const char *was)
{
	return c->workload || c->vgpu;
}

static bool is_workload_ours(const struct beside_case *c, const char *was)
{
	return c->workload;
}

static bool is_vgpu_ours(const struct beside_case *c, const char *was)
{
	return c->vgpu;
}

static bool is_mig_ours(const struct beside_case *c, const char *was)
{
	return c->mig;
}

/* It waits for a mediated device for ever where a VF is a vGPU. While nothing tells which, as
 * without VFs, it stays as it is. */
static bool waits_for_ever(const struct beside_case *c, const char *was)
{
	return c->world == WORLD_VFIO || (c->world == WORLD_UNKNOWN && !strcmp(was, AWAY));
}

/* paused: by NVIDIA's vgpu-device-manager while it changes vGPUs (spec/peers.md 1.3). Never among
 * these: driver and vgpu-manager, whose pods are the driver, and end with their label. */
static const struct component {
	const char *label;
	bool (*away)(const struct beside_case *c, const char *was);
	bool paused;
} components[BESIDE_IDS] = {
	[BESIDE_DEVICE_PLUGIN] = { DEPLOY "sandbox-device-plugin", is_plugin_ours, true },
	[BESIDE_VFIO_MANAGER] = { DEPLOY "vfio-manager", is_workload_ours },
	[BESIDE_VGPU_MANAGER] = { DEPLOY "vgpu-device-manager", is_vgpu_ours },
	[BESIDE_MIG_MANAGER] = { DEPLOY "mig-manager", is_mig_ours },
	[BESIDE_VALIDATOR] = { DEPLOY "sandbox-validator", waits_for_ever, true },
};

static const char *name_of(enum beside_id id)
{
	return components[id].label + strlen(DEPLOY);
}

/* ---- the Node */

static bool is(json_object *node, const char *label, const char *value)
{
	const char *text = js_meta(node, "labels", label);

	return text && !strcmp(text, value);
}

static bool has_any(json_object *node)
{
	json_object *labels = js_get(node, "metadata.labels");

	if (!json_object_is_type(labels, json_type_object))
		return false;
	json_object_object_foreach(labels, key, value)
	{
		if (!strncmp(key, DEPLOY, strlen(DEPLOY)) && json_object_get_string_len(value) > 0)
			return true;
	}
	return false;
}

/* The note's word NAME=VALUE; "": it has none. */
static void noted(const char *note, const char *name, char ret[static LABEL_VALUE + 1])
{
	size_t n = strlen(name);

	*ret = '\0';
	for (; *note; note += strspn(note, " ")) {
		size_t len = strcspn(note, " ");

		if (len > n && len - n - 1 <= LABEL_VALUE && !strncmp(note, name, n) &&
		    note[n] == '=')
			snprintf(ret, LABEL_VALUE + 1, "%.*s", (int)(len - n - 1), note + n + 1);
		note += len;
	}
}

void beside_read(json_object *node, struct beside_now *ret)
{
	const char *note = js_meta(node, "annotations", NOTE) ?: "";

	*ret = (struct beside_now){ 0 };
	if (!STR_COPY(ret->note, note)) /* not of ours: it is written anew */
		note = "";
	/* Of the present label alone GPU nodes without the operator have one, too. */
	ret->here = is(node, "nvidia.com/gpu.present", "true") && has_any(node);
	ret->dra = ret->here && is(node, DEPLOY "dra-driver", RUNS);
	for (enum beside_id id = 0; id < BESIDE_IDS; id++) {
		const char *value = js_meta(node, "labels", components[id].label);

		if (!value || !STR_COPY(ret->value[id], value))
			continue;
		noted(note, name_of(id), ret->ours[id]);
		/* Somebody else has changed it since, or the note. */
		if (strcmp(ret->ours[id], value) || (strcmp(value, AWAY) && strcmp(value, PAUSED)))
			ret->ours[id][0] = '\0';
	}
}

enum beside_world beside_world(const struct inventory *inv)
{
	enum beside_world world = WORLD_UNKNOWN;

	for (size_t i = 0; i < inv->n && world != WORLD_MDEV; i++) {
		const struct inv_dev *d = inv->v[i];
		const char *types = dev_get(d, "profiles_available");

		/* The id of NVIDIA's types is nvidia-747 there, 747 here. */
		if (!strncmp(dev_get(d, "profile_id"), "nvidia-", 7) || strstr(types, "id=nvidia-"))
			world = WORLD_MDEV;
		else if (dev_is_vgpu(d) && !strcmp(dev_get(d, "vendor"), INV_NVIDIA) &&
			 (*dev_get(d, "profile_id") || *types))
			world = WORLD_VFIO;
	}
	return world;
}

/* ---- what is said */

/* What the label is to read; NULL: it is not ours to change. Where the operator runs no such
 * component there is no label, and none is made: it would take it away again. */
static const char *wanted(const struct beside_case *c, enum beside_id id)
{
	const struct component *of = &components[id];
	const char *is = c->now->value[id], *ours = c->now->ours[id];
	bool role = (c->workload || c->vgpu || c->mig) && c->now->here;
	/* Of a vgpu-device-manager that was told to stay away in the midst of a change. */
	bool left = role && c->vgpu && of->paused && !strcmp(is, PAUSED);

	if (!*ours && !left && strcmp(is, RUNS))
		return NULL;
	if (!role)
		return RUNS;
	if (of->away(c, is))
		return AWAY;
	if (of->paused && (c->change == CHANGE_RUNS ||
			   (c->change == CHANGE_UNKNOWN && !strcmp(is, PAUSED))))
		return PAUSED;
	return RUNS;
}

bool beside_patch(const struct beside_case *c, json_object **patch)
{
	struct out note = { 0 };
	json_object *o = *patch ? json_object_get(*patch) : json_object_new_object();
	bool changes = false;

	for (enum beside_id id = 0; id < BESIDE_IDS; id++) {
		const char *want = wanted(c, id);

		if (want && strcmp(want, RUNS))
			out_printf(&note, "%s%s=%s", note.len ? " " : "", name_of(id), want);
		if (!want || !strcmp(want, c->now->value[id]))
			continue;
		js_set_meta(o, "labels", components[id].label, want);
		changes = true;
	}
	if (strcmp(out_text(&note), c->now->note)) {
		changes = true;
		if (note.len)
			js_set_meta(o, "annotations", NOTE, out_text(&note));
		else
			js_unset_meta(o, "annotations", NOTE);
	}
	out_free(&note);
	if (changes && !*patch)
		*patch = json_object_get(o);
	json_object_put(o);
	return changes;
}
