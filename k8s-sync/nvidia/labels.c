// SPDX-License-Identifier: GPL-2.0-or-later
#include "labels.h"

#include <stdio.h>
#include <string.h>

#include "plan.h"

const struct label_row label_rows[NODE_LABELS] = {
	[WORKLOAD_LABEL] = { "nvidia.com/gpu.workload.config", NULL,
			     NOTE_PREFIX "gpu.workload.config", NULL, plan_workload },
	[MIG_LABEL] = { "nvidia.com/mig.config", "nvidia.com/mig.config.state",
			NOTE_PREFIX "mig.config", "container", plan_layout },
	[VGPU_LABEL] = { "nvidia.com/vgpu.config", "nvidia.com/vgpu.config.state",
			 NOTE_PREFIX "vgpu.config", "vm-vgpu", plan_layout },
};

static void copy(char *dst, size_t size, const char *text)
{
	if (!text || !str_copy(dst, size, text))
		*dst = '\0'; /* no label is as long */
}

void labels_read(json_object *node, struct label_now ret[static NODE_LABELS])
{
	for (enum label_id i = 0; i < NODE_LABELS; i++) {
		const struct label_row *row = &label_rows[i];
		struct label_now *now = &ret[i];

		copy(now->value, sizeof(now->value), js_meta(node, "labels", row->label));
		copy(now->state, sizeof(now->state),
		     row->state ? js_meta(node, "labels", row->state) : NULL);
		copy(now->note, sizeof(now->note), js_meta(node, "annotations", row->note));
	}
}

/* A workload that is removed is the default one (spec/peers.md 4.9). Another label that is removed
 * asks for nothing: what it made stays (spec/peers.md 1.3). */
static const char *value_of(enum label_id id, const struct label_now *now, const char *fallback)
{
	size_t n = strcspn(now->note, " ");
	bool other = n && fallback && (strlen(fallback) != n || strncmp(now->note, fallback, n));

	return *now->value ? now->value : other && id != WORKLOAD_LABEL ? NULL : fallback;
}

bool label_ends(const char *workload, enum label_id other)
{
	return label_rows[other].workload && strcmp(label_rows[other].workload, workload);
}

const char *label_value(enum label_id id, const struct label_now now[static NODE_LABELS],
			const char *const fallback[static NODE_LABELS])
{
	const char *is = value_of(WORKLOAD_LABEL, &now[WORKLOAD_LABEL], fallback[WORKLOAD_LABEL]);

	return is && label_ends(is, id) ? NULL : value_of(id, &now[id], fallback[id]);
}

void label_plan_free(struct label_plan *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->lines[i]);
	free(p->lines);
	out_free(&p->told);
	layout_free(&p->layout);
	*p = (struct label_plan){ 0 };
}

void label_plan(enum label_id id, const char *value, const struct label_source *source,
		struct label_plan *ret)
{
	char copied[LABEL_VALUE + 1];

	STR_COPY(copied, value);
	label_plan_free(ret);
	STR_COPY(ret->value, copied);
	snprintf(ret->begun, sizeof(ret->begun), "%s" LABEL_BEGUN, copied);
	snprintf(ret->ended, sizeof(ret->ended), "%s" LABEL_ENDED, copied);
	label_rows[id].make(source, ret);
	if (ret->layout.hash)
		snprintf(ret->note, sizeof(ret->note), "%s %016llx", copied,
			 (unsigned long long)ret->layout.hash);
	else if (!*ret->note)
		STR_COPY(ret->note, copied);
}

/* Does the note say what is carried out? */
static bool is_agreed(const char *note)
{
	const char *rest = note ? strchr(note, ' ') : NULL;

	return note && *note &&
	       !(rest && (!strcmp(rest, LABEL_BEGUN) || !strcmp(rest, LABEL_ENDED)));
}

struct label_step label_decide(const struct label_case *c)
{
	const struct label_plan *plan = c->plan;
	const char *back;

	if (!plan)
		return (struct label_step){ LABEL_READ };
	back = c->before ?: c->settles ? plan->ended : NULL;
	/* What somebody wrote in the tree since stays. */
	if (!plan->err.code && !strcmp(plan->note, c->now->note))
		return (struct label_step){ LABEL_REST, "success" };
	if (plan->err.code || (c->ran && c->failed))
		return (struct label_step){ LABEL_REST, "failed", back };
	if (c->ran || !plan->n)
		return (struct label_step){ LABEL_REST, "success", plan->note };
	if (c->settles)
		return (struct label_step){ LABEL_REST, is_agreed(c->before) ? "success" : "failed",
					    back };
	return (struct label_step){ LABEL_RUN, c->repeated ? NULL : "pending",
				    *plan->begun ? plan->begun : NULL };
}

void label_end(enum label_id id, const struct label_now *now, json_object **patch)
{
	char note[LABEL_NOTE];

	snprintf(note, sizeof(note), "%.*s" LABEL_ENDED, (int)strcspn(now->note, " "), now->note);
	if (!*now->note || !strcmp(now->note, note))
		return;
	*patch = *patch ?: json_object_new_object();
	js_set_meta(*patch, "annotations", label_rows[id].note, note);
}

json_object *label_patch(enum label_id id, const struct label_now *now,
			 const struct label_step *step)
{
	const struct label_row *row = &label_rows[id];
	json_object *o = NULL;

	if (row->state && step->state && strcmp(now->state, step->state)) {
		o = json_object_new_object();
		js_set_meta(o, "labels", row->state, step->state);
	}
	if (step->note && strcmp(now->note, step->note)) {
		o = o ?: json_object_new_object();
		if (*step->note)
			js_set_meta(o, "annotations", row->note, step->note);
		else
			js_unset_meta(o, "annotations", row->note);
	}
	return o;
}
