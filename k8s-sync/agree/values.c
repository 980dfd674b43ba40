// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "agree.h"
#include "inventory.h"
#include "pcidevfs/pair.h"
#include "pcidevfs/util.h"

/* ---- the rows */

static void say(char ret[static ACCORD_VALUE], const char *value)
{
	str_copy(ret, ACCORD_VALUE, *value ? value : "none");
}

static void tree_claim(const struct inv_dev *d, char ret[static ACCORD_VALUE])
{
	say(ret, dev_get(d, "claim"));
}

/* Is this file among what was written and is stored? Leaves ret alone otherwise. */
static bool was_asked(const struct inv_dev *d, const char *file, char ret[static ACCORD_VALUE])
{
	char *text = strdup(dev_get(d, "asked")), *cursor = text;
	bool found = false;
	struct pair p;

	while (text && pair_next(&cursor, &p) == 1)
		if (!strcmp(p.key, file)) {
			say(ret, p.value);
			found = true;
		}
	free(text);
	return found;
}

/* What was written counts, also while the kernel does not have it so: its driver may be away. What
 * nobody wrote is the file's. */
static void say_asked(char ret[static ACCORD_VALUE], const struct inv_dev *d, const char *file,
		      const char *none)
{
	say(ret, dev_get(d, file));
	was_asked(d, file, ret);
	if (!strcmp(ret, none))
		say(ret, "");
}

/* Where the driver makes the VFs `enabled` is written, elsewhere their number. */
static void tree_enabled(const struct inv_dev *d, char ret[static ACCORD_VALUE])
{
	if (!was_asked(d, "enabled", ret))
		say_asked(ret, d, "sriov_numvfs", "0");
	say(ret, strcmp(ret, "0") && strcmp(ret, "none") ? "1" : "");
}

static void cluster_enabled(json_object *o, const char *tree, char ret[static ACCORD_VALUE])
{
	say(ret, json_object_get_boolean(js_get(o, "spec.enabled")) ? "1" : "");
}

static void set_enabled(json_object *o, const struct inv_dev *d, const char *value)
{
	js_set(o, "spec.enabled", json_object_new_boolean(strcmp(value, "none") != 0));
}

static void tree_vfs(const struct inv_dev *d, char ret[static ACCORD_VALUE])
{
	say_asked(ret, d, "sriov_numvfs", "0");
}

static void cluster_vfs(json_object *o, const char *tree, char ret[static ACCORD_VALUE])
{
	int64_t n = json_object_get_int64(js_get(o, "spec.numVFs"));

	if (n)
		snprintf(ret, ACCORD_VALUE, "%lld", (long long)n);
	else
		say(ret, "");
}

static void set_vfs(json_object *o, const struct inv_dev *d, const char *value)
{
	js_set(o, "spec.numVFs", json_object_new_int64(strtoll(value, NULL, 10)));
}

/* A text of the cluster's: a line of ctl has no control characters, a note no angles; and what was
 * cut ends in no half of a character. */
static void say_clean(char ret[static ACCORD_VALUE], const char *value)
{
	str_copy(ret, ACCORD_VALUE, strcmp(value, "none") ? value : "_");
	for (char *c = ret; *c; c++)
		if ((unsigned char)*c < ' ' || (unsigned char)*c >= 0x7f || strchr("<>", *c))
			*c = '_';
}

static void tree_profile(const struct inv_dev *d, char ret[static ACCORD_VALUE])
{
	say_asked(ret, d, "profile", "none");
}

/* Harvester leaves the type empty of what it has found configured: whatever it is. */
static void cluster_profile(json_object *o, const char *tree, char ret[static ACCORD_VALUE])
{
	const char *type = js_text(o, "spec.vGPUTypeName");

	if (!json_object_get_boolean(js_get(o, "spec.enabled")))
		say(ret, "");
	else if (!*type && strcmp(tree, "none"))
		say(ret, tree);
	else
		say_clean(ret, type);
}

static void set_profile(json_object *o, const struct inv_dev *d, const char *value)
{
	bool on = strcmp(value, "none") != 0;

	js_set(o, "spec.enabled", json_object_new_boolean(on));
	js_set_text(o, "spec.vGPUTypeName", on ? value : "");
}

static void tree_layout(const struct inv_dev *d, char ret[static ACCORD_VALUE])
{
	char text[ACCORD_VALUE];

	say(text, dev_get(d, "mig_layout"));
	was_asked(d, "mig/layout", text);
	mig_layout(text, ret);
}

/* A vGPU's own name counts as one in Harvester. */
static void tree_resource(const struct inv_dev *d, char ret[static ACCORD_VALUE])
{
	say(ret, dev_get(d, dev_is_vgpu(d) ? "resource_name" : "resource_override"));
}

/* A vGPU whose GPU is off is stored in the tree, and comes back with its VF. */
static bool is_stored_vgpu(const struct world *w, json_object *o)
{
	const char *card = js_text(o, "spec.parentGPUDeviceAddress");
	const struct inv_dev *gpu = inventory_find(w->inv, card);
	char on[ACCORD_VALUE];

	if (!gpu || !kinds[GPU_DEVICE].wanted(w, gpu))
		return false;
	tree_enabled(gpu, on);
	return !strcmp(on, "none");
}

/* clang-format off: a row as it is read */
const struct value_row value_rows[] = {
	{ PCI_DEVICE, "claim", "none", &claims_pci, tree_claim },
	{ USB_DEVICE, "claim", "none", &claims_usb, tree_claim },
	{ NET_DEVICE, "sriov_numvfs", "0", NULL, tree_vfs, cluster_vfs, set_vfs },
	{ GPU_DEVICE, "enabled", "0", NULL, tree_enabled, cluster_enabled, set_enabled,
	  .with = mig_with_enabled },
	{ MIG_CONFIG, "mig-layout", "none", NULL, tree_layout, mig_cluster, mig_set,
	  .path = "mig/layout", .is_known = mig_is_known },
	{ VGPU_DEVICE, "profile", "none", NULL, tree_profile, cluster_profile, set_profile,
	  .is_stored = is_stored_vgpu },
	{ PCI_DEVICE, "resource_name", "none", NULL, tree_resource, .annotation = RESOURCE_OVERRIDE,
	  .is_fact = dev_is_vgpu },
};
/* clang-format on */
const size_t n_value_rows = ARRAY_SIZE(value_rows);

/* ---- what is agreed */

static void cluster_of(const struct value_row *row, json_object *o, const char *tree,
		       char ret[static ACCORD_VALUE])
{
	const char *text = row->annotation ? js_meta(o, "annotations", row->annotation) : NULL;

	if (row->cluster)
		row->cluster(o, tree, ret);
	else if (text && *text)
		say_clean(ret, text);
	else
		say(ret, "");
}

void values_fill(json_object *o, enum kind_id kind, const struct inv_dev *d)
{
	for (size_t r = 0; r < n_value_rows; r++) {
		const struct value_row *row = &value_rows[r];
		char value[ACCORD_VALUE];

		if (row->kind != kind || row->claim)
			continue;
		row->tree(d, value);
		if (row->set)
			row->set(o, d, value);
		else if (strcmp(value, "none"))
			js_set_meta(o, "annotations", row->annotation, value);
	}
}

struct verdict *verdict_about(const struct world *w, const char *about)
{
	struct verdict *v = w->verdicts;

	while (v && strcmp(v->about, about))
		v = v->next;
	return v;
}

static bool row_known(const struct world *w, const struct value_row *row)
{
	return w->listed[row->kind] && (!row->claim || w->listed[row->claim->claim]);
}

json_object *value_asker(const struct value *v)
{
	return v->claim && !object_is_deleted(v->claim) ? v->claim : v->object;
}

/* What the cause of a refusal may hang on: the device and its VFs, what is asked, and that it is
 * asked anew: an object of this name may be another one, or have been changed back and forth. */
static uint64_t seen_of(const struct value *v)
{
	json_object *o = value_asker(v);
	const char *uid = js_text(o, "metadata.uid");
	const char *version = json_object_get_string(js_get(o, "metadata.generation")) ?: "";
	uint64_t h = fnv1a(FNV1A, v->dev->pairs, v->dev->len);

	h = fnv1a(h, v->cluster, strlen(v->cluster));
	h = fnv1a(fnv1a(h, uid, strlen(uid)), version, strlen(version));
	for (size_t i = 0; dev_has(v->dev, "sriov_numvfs") && i < v->w->inv->n; i++) {
		const struct inv_dev *d = v->w->inv->v[i];

		if (!strcmp(dev_get(d, "physfn"), v->dev->id))
			h = fnv1a(h, d->pairs, d->len);
	}
	return h;
}

static uint64_t open_of(const struct value *v)
{
	const char *uid = js_text(v->claim, "metadata.uid");
	uint64_t h = fnv1a(FNV1A, v->tree, strlen(v->tree) + 1);

	return fnv1a(fnv1a(h, v->cluster, strlen(v->cluster) + 1), uid, strlen(uid));
}

/* Its claims are objects of their own: as long as somebody keeps a deleted device's object, they
 * count. Where the cluster deletes them first, for the device's sake, nobody has released it. */
static bool is_going(const struct value_row *row, json_object *o)
{
	return object_is_deleted(o) &&
	       (!row->claim || js_find(js_get(o, "metadata.finalizers"), "", "foregroundDeletion"));
}

bool value_look(const struct world *w, const struct value_row *row, const struct inv_dev *d,
		struct value *ret)
{
	struct value *v = ret;

	*v = (struct value){ .w = w, .row = row, .dev = d };
	if (!kinds[row->kind].wanted(w, d) || !object_name(w, row->kind, d, v->name))
		return false;
	v->object = object_find(w, row->kind, v->name);
	if (!v->object || is_going(row, v->object) ||
	    !(row->claim || row->annotation || object_has_spec(row->kind, v->object)))
		return false;
	row->tree(d, v->tree);
	if (row->claim && !claim_look(v))
		return false;
	if (!row->claim) {
		cluster_of(row, v->object, v->tree, v->cluster);
		STR_COPY(v->had, v->cluster);
	}
	v->whose = claim_whose(v);
	accord_decide(note_get(row, v->object), v->whose, v->tree, v->had, v->cluster, &v->accord);
	if (v->accord.what == ACCORD_REST && *v->accord.note && note_is_old(v))
		v->accord.what = ACCORD_NOTE;
	if (row->is_fact && row->is_fact(d))
		v->accord.what = v->accord.agreed ? ACCORD_REST : ACCORD_TO_CLUSTER;
	snprintf(v->about, sizeof(v->about), "%s/%s", d->id, row->path ?: row->file);
	v->seen = seen_of(v);
	v->open = open_of(v);
	v->verdict = verdict_about(w, v->about);
	if (v->verdict && v->verdict->open == v->open)
		v->open_ms = w->now_ms - v->verdict->since;
	if (v->verdict && v->verdict->seen != v->seen && !v->verdict->running)
		v->verdict = NULL;
	return true;
}

/* ---- what is done */

void ask_tree(const struct value *v, const char *about, uint64_t seen, struct out *lines,
	      struct actions *list)
{
	const struct verdict *was = verdict_about(v->w, about);
	json_object *o = value_asker(v);
	enum kind_id kind = o == v->claim ? v->row->claim->claim : v->row->kind;
	struct action *a = NULL;

	if (!lines->len && was && !was->running)
		a = action_add(list, ACT_FORGET, kind, js_text(o, "metadata.name"), NULL);
	else if (lines->len && (!was || (!was->running && was->seen != seen)))
		a = action_add(list, ACT_CTL, kind, js_text(o, "metadata.name"),
			       json_object_get(o));
	if (!a) {
		out_free(lines);
		return;
	}
	STR_COPY(a->about, about);
	a->seen = seen;
	a->was = fnv1a(FNV1A, v->tree, strlen(v->tree));
	a->lines = lines->data;
}

/* A vGPU's claim ends with its profile, and another user's before a new one begins. */
static void to_tree(const struct value *v, struct actions *list)
{
	bool claim = v->row->claim, vgpu = claim && dev_is_vgpu(v->dev);
	bool none = !strcmp(v->cluster, "none") || (claim && !vgpu && strcmp(v->tree, "none"));
	const struct verdict *last = verdict_about(v->w, v->about);
	struct out lines = { 0 };

	if (claim && !none) {
		alone_to_tree(v, &lines);
		if (!last || last->plain != v->seen)
			adopt_to_tree(v, lines.len, &lines);
	}
	if (v->row->with && !none)
		v->row->with(v, &lines);
	if (none && vgpu)
		out_printf(&lines, "%s/profile none\n", v->dev->id);
	else
		out_printf(&lines, "%s %s\n", v->about, none ? v->row->none : v->cluster);
	ask_tree(v, v->about, v->seen, &lines, list);
}

json_object *patch_of(json_object *o)
{
	json_object *patch = json_object_new_object();

	js_set_text(patch, "metadata.resourceVersion", js_text(o, "metadata.resourceVersion"));
	return patch;
}

static void to_cluster(const struct value *v, struct actions *list)
{
	json_object *patch, *all;

	if (v->row->claim) {
		claim_to_cluster(v, list);
		return;
	}
	patch = patch_of(v->object);
	if (v->row->set) {
		v->row->set(patch, v->dev, v->tree);
	} else {
		all = json_object_new_object();
		json_object_object_add(all, v->row->annotation,
				       strcmp(v->tree, "none") ? json_object_new_string(v->tree)
							       : NULL);
		js_set(patch, "metadata.annotations", all);
	}
	action_add(list, ACT_PATCH, v->row->kind, v->name, patch);
}

/* The tree's value is not what is stored there, for example since the driver is away, or it is not
 * known: then it is no change that somebody asked for. A claim's is, always. */
static bool lags(const struct value *v)
{
	return v->row->set && accord_leads(&v->accord, '<') &&
	       (*dev_get(v->dev, "unsatisfied") || (v->row->is_known && !v->row->is_known(v->dev)));
}

/* An operation runs, and what is read in its midst is not what somebody wants. What the cluster
 * wants is noted, before it is gone. */
static bool is_amid(const struct value *v)
{
	return dev_is_busy(v->dev) &&
	       !(v->row->claim && v->accord.what == ACCORD_NOTE && strchr(v->accord.note, '>'));
}

static void value_decide(const struct value *v, struct actions *list)
{
	late_decide(v, list);
	if (is_amid(v) || lags(v) || value_is_written(v) || value_is_on_its_way(v) ||
	    !group_lets(v))
		return;
	if (v->accord.agreed)
		ask_tree(v, v->about, v->seen, &(struct out){ 0 }, list);
	switch (v->accord.what) {
	case ACCORD_NOTE:
		note_write(v, list);
		break;
	case ACCORD_TO_TREE:
		to_tree(v, list);
		break;
	case ACCORD_TO_CLUSTER:
		to_cluster(v, list);
		break;
	case ACCORD_REST:
		if (v->row->claim)
			alone_at_rest(v, list);
	}
}

void values_decide(const struct world *w, struct actions *list)
{
	for (size_t r = 0; r < n_value_rows; r++) {
		if (!row_known(w, &value_rows[r]))
			continue;
		for (size_t i = 0; i < w->inv->n; i++) {
			struct value v;

			if (value_look(w, &value_rows[r], w->inv->v[i], &v))
				value_decide(&v, list);
		}
		if (value_rows[r].claim)
			claims_complete(w, &value_rows[r], list);
	}
}

bool values_known(const struct world *w, enum kind_id kind)
{
	for (size_t r = 0; r < n_value_rows; r++)
		if (value_rows[r].kind == kind && !row_known(w, &value_rows[r]))
			return false;
	return true;
}

/* ---- what is said about it */

/* A claim says itself why it is refused. One that was deleted, and whose device could not be
 * released, cannot. */
void values_standing(const struct at *at, enum kind_id kind, struct standing *ret)
{
	for (size_t r = 0; r < n_value_rows && !ret->type; r++) {
		const struct value_row *row = &value_rows[r];
		struct value v;

		if (row->kind != kind || !value_look(at->w, row, at->dev, &v))
			continue;
		if (row->set && *dev_get(at->dev, "unsatisfied")) {
			*ret = (struct standing){ "Applied", .reason = "Unsatisfied" };
			STR_COPY(ret->message, dev_get(at->dev, "unsatisfied"));
		} else if (!v.accord.agreed && !(row->claim && strcmp(v.cluster, "none")) &&
			   v.verdict && !v.verdict->running && v.verdict->err.code) {
			*ret = (struct standing){ row->claim ? "Released" : "Applied",
						  .reason = "Refused" };
			STR_COPY(ret->message, v.verdict->err.text);
		} else if (!strcmp(v.cluster, "none") && late_is(&v, ret->message)) {
			ret->type = "Released";
			ret->reason = "Pending";
		}
	}
}

bool values_keep(const struct world *w, enum kind_id kind, json_object *o)
{
	for (size_t r = 0; r < n_value_rows; r++) {
		const struct value_row *row = &value_rows[r];
		const char *note = note_get(row, o);
		char cluster[ACCORD_VALUE];

		if (row->kind != kind)
			continue;
		cluster_of(row, o, "none", cluster);
		if (note && !strcmp(note, cluster) && row->is_stored && row->is_stored(w, o))
			continue;
		if (note || strcmp(cluster, "none"))
			return true;
	}
	return false;
}
