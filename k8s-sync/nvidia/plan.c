// SPDX-License-Identifier: GPL-2.0-or-later
#include "plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client/inventory.h"
#include "labels.h"

static int add(struct label_plan *p, char *lines)
{
	char **more = lines ? realloc(p->lines, (p->n + 1) * sizeof(*more)) : NULL;

	if (!more) {
		free(lines);
		return fail_nomem(&p->err);
	}
	p->lines = more;
	more[p->n++] = lines;
	return 0;
}

/* Adds to what is told. */
static void tell(struct label_plan *p, const char *id, const char *file, const char *what)
{
	out_printf(&p->told, "%s%s%s %s", p->told.len ? "; " : "", id, file, what);
}

/* ---- layouts */

static void tell_end(void *ctx, const char *id, const char *file, const char *was)
{
	char path[64];

	snprintf(path, sizeof(path), "/%s", file);
	tell(ctx, id, path, was);
	out_printf(&((struct label_plan *)ctx)->told, " ends");
}

void plan_layout(const struct label_source *source, struct label_plan *p)
{
	struct out lines = { 0 };

	if (!source->text)
		fail(&p->err, ENOENT, "%s", source->why);
	else
		layout_read(source->path, source->text, strlen(source->text), p->value,
			    &source->view, &p->layout, &p->err);
	if (p->err.code)
		return;
	for (size_t i = 0; i < p->layout.n; i++) {
		const struct layout_line *l = &p->layout.v[i];

		out_printf(&lines, "%s/%s %s\n", l->id, l->file, l->value);
	}
	layout_ends(&p->layout, source->view.inv, tell_end, p);
	if (p->layout.n)
		add(p, lines.failed ? NULL : lines.data);
}

/* ---- workloads */

/* A note: the value, SWITCHES, SEEN and the devices that there were, LEFT and some of these. */
#define SWITCHES " with-nvswitches"
#define SEEN " seen"
#define LEFT " left"

/* Behind the value; NULL: another value was agreed. */
static const char *behind(const char *note, const char *value)
{
	size_t n = strlen(value);

	return note && !strncmp(note, value, n) && (!note[n] || note[n] == ' ') ? note + n : NULL;
}

/* Were NVSwitches among what was agreed? */
static bool had_switches(const char *note, const char *value)
{
	const char *rest = behind(note, value);

	return rest && !strncmp(rest, SWITCHES, strlen(SWITCHES));
}

/* The GPUs behind the value; NULL: this value was not agreed, so all of them are to be looked
 * at. */
static const char *left_of(const char *note, const char *value)
{
	const char *rest = behind(note, value);

	if (!rest || !strcmp(rest, LABEL_BEGUN) || !strcmp(rest, LABEL_ENDED))
		return NULL;
	rest = strstr(rest, LEFT " ");
	return rest ? rest + strlen(LEFT) : "";
}

/* Is it one of the words, up to LEFT? */
static bool has_word(const char *text, const char *word, size_t n)
{
	while (*(text += strspn(text, " "))) {
		size_t len = strcspn(text, " ");

		if (len == n && !memcmp(text, word, n))
			return true;
		if (!strncmp(text, &(LEFT " ")[1], strlen(LEFT)))
			return false;
		text += len;
	}
	return false;
}

/* list: of the note, its last one so far. */
static void note_add(struct label_plan *p, const char *list, const char *id, size_t n)
{
	size_t at = strlen(p->note);
	bool first = !strstr(p->note, list);

	if (at + n + strlen(list) + 1 < sizeof(p->note))
		snprintf(p->note + at, sizeof(p->note) - at, "%s %.*s", first ? list : "", (int)n,
			 id);
}

/* Adds those of the words, up to LEFT, that are away: who comes back is as it was. */
static void note_away(struct label_plan *p, const char *list, const char *words,
		      const struct tree_inventory *inv)
{
	while (*(words += strspn(words, " ")) && strncmp(words, &(LEFT " ")[1], strlen(LEFT))) {
		size_t len = strcspn(words, " ");
		_free_ char *id = strndup(words, len);

		if (id && !device_by_id(inv, id))
			note_add(p, list, id, len);
		words += len;
	}
}

/* More than some thirty devices, half of the note, are not told from new ones. agreed: the note of
 * this value; "": none. */
static void note_seen(struct label_plan *p, const struct tree_inventory *inv, const char *agreed)
{
	size_t bare = strlen(p->note);
	const char *seen = strstr(agreed, SEEN " ");
	const struct tree_device *gpu;

	for (size_t at = 0; (gpu = layout_gpu(inv, &at)); at++)
		note_add(p, SEEN, gpu->id, strlen(gpu->id));
	for (size_t i = 0; i < inv->n; i++)
		if (layout_is_nvswitch(&inv->devices[i]))
			note_add(p, SEEN, inv->devices[i].id, strlen(inv->devices[i].id));
	if (seen)
		note_away(p, SEEN, seen + strlen(SEEN), inv);
	if (strlen(p->note) > sizeof(p->note) / 2)
		p->note[bare] = '\0';
}

static void leave(struct label_plan *p, const char *id, size_t n)
{
	note_add(p, LEFT, id, n);
}

/* Was it there when the note's value was agreed? Of an older note that is taken for granted. */
static bool was_seen(const char *note, const char *id)
{
	const char *seen = note ? strstr(note, SEEN " ") : NULL;

	return !seen || has_word(seen + strlen(SEEN), id, strlen(id));
}

void label_plan_left(struct label_plan *p, size_t i)
{
	leave(p, p->lines[i], strcspn(p->lines[i], "/"));
}

bool label_goes_on(const struct label_now *now)
{
	return strstr(now->note, LEFT " ") || strstr(now->note, SEEN " ");
}

bool label_begun(const struct label_now *now, char ret[static LABEL_VALUE + 1])
{
	size_t n = strcspn(now->note, " ");

	if (!n || n > LABEL_VALUE || strcmp(now->note + n, LABEL_BEGUN))
		return false;
	snprintf(ret, LABEL_VALUE + 1, "%.*s", (int)n, now->note);
	return true;
}

enum takes { NOTHING, TAKE, GIVE };

bool label_has_vgpus(const struct tree_inventory *inv, const struct tree_device *gpu)
{
	for (size_t i = 0; i < inv->n; i++)
		if (*device_says(&inv->devices[i], "profile") &&
		    device_is_of(&inv->devices[i], gpu->id))
			return true;
	return false;
}

static enum takes decide(struct label_plan *p, const struct tree_inventory *inv,
			 const struct tree_device *gpu, bool passthrough)
{
	const char *claim = device_says(gpu, "claim");

	if (!strcmp(claim, LABEL_OWNER))
		return passthrough ? NOTHING : GIVE;
	if (*claim)
		tell(p, gpu->id, " is left: it is claimed by", claim);
	else if (passthrough && label_has_vgpus(inv, gpu))
		tell(p, gpu->id, " is left:", LABEL_VGPUS);
	else if (passthrough) {
		if (*device_says(gpu, "mig_layout"))
			tell_end(p, gpu->id, "mig/layout", device_says(gpu, "mig_layout"));
		return TAKE;
	}
	if (passthrough)
		leave(p, gpu->id, strlen(gpu->id));
	return NOTHING;
}

static const struct workload {
	const char *name;
	bool passthrough;
} workloads[] = {
	{ "vm-passthrough", true },
	{ "vm-vgpu", false }, /* vGPUs are the other label's */
	{ "container", false },
};

static const struct workload *workload_of(const char *value)
{
	for (size_t i = 0; i < ARRAY_SIZE(workloads); i++)
		if (!strcmp(workloads[i].name, value))
			return &workloads[i];
	return NULL;
}

bool label_is_workload(const char *value)
{
	return workload_of(value);
}

/* The transaction of one device. left: those that are to be looked at; NULL: all. A function with
 * VFs cannot be claimed. */
static void plan_device(const struct label_source *source, struct label_plan *p,
			const struct tree_device *d, bool passthrough, const char *left)
{
	const char *vfs = device_says(d, "sriov_numvfs");
	struct out lines = { 0 };
	enum takes takes;

	if (left && !has_word(left, d->id, strlen(d->id)) && was_seen(source->note, d->id))
		return; /* it is agreed */
	takes = decide(p, source->view.inv, d, passthrough);
	if (takes == NOTHING)
		return;
	if (takes == TAKE && *vfs && strcmp(vfs, "0"))
		out_printf(&lines, "%s/%s 0\n", d->id,
			   device_get(d, "enabled") ? "enabled" : "sriov_numvfs");
	out_printf(&lines, "%s/claim %s\n", d->id, takes == TAKE ? LABEL_OWNER : "none");
	add(p, lines.failed ? NULL : lines.data);
}

/* Is it claimed with a GPU, as a member of its IOMMU group? */
static bool goes_with_gpu(const struct tree_inventory *inv, const struct tree_device *d)
{
	const char *group = device_says(d, "iommu_group");
	const struct tree_device *gpu;

	for (size_t at = 0; *group && (gpu = layout_gpu(inv, &at)); at++)
		if (!strcmp(device_says(gpu, "iommu_group"), group) &&
		    !strcmp(device_says(gpu, "claim"), LABEL_OWNER))
			return true;
	return false;
}

/* Those that are not asked for are left, but what was taken before is given back. */
static bool counts(const struct label_source *source, const struct tree_device *d)
{
	return layout_is_nvswitch(d) &&
	       (source->nvswitches || (!strcmp(device_says(d, "claim"), LABEL_OWNER) &&
				       !goes_with_gpu(source->view.inv, d)));
}

void plan_workload(const struct label_source *source, struct label_plan *p)
{
	const struct workload *of = workload_of(p->value);
	const struct tree_inventory *inv = source->view.inv;
	const char *left = left_of(source->note, p->value);
	const struct tree_device *gpu;
	bool switches;

	if (!of) {
		fail(&p->err, EINVAL,
		     "it is not one of vm-passthrough, vm-vgpu and container; nothing is done");
		return;
	}
	switches = of->passthrough && source->nvswitches;
	snprintf(p->note, sizeof(p->note), "%s%s", p->value, switches ? SWITCHES : "");
	if (left) /* each GPU's step shows in the tree: what was agreed counts on */
		*p->begun = '\0';
	note_seen(p, inv, left ? source->note : "");
	if (left)
		note_away(p, LEFT, left, inv);
	for (size_t at = 0; !p->err.code && (gpu = layout_gpu(inv, &at)); at++)
		plan_device(source, p, gpu, of->passthrough, left);
	if (switches != had_switches(source->note, p->value)) /* the option is another one since */
		left = NULL;
	for (size_t i = 0; !p->err.code && i < inv->n; i++)
		if (counts(source, &inv->devices[i]))
			plan_device(source, p, &inv->devices[i], switches, left);
}
