// SPDX-License-Identifier: GPL-2.0-or-later
/* One question to a guard: names devices to a helper and stores its lines in the devices. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/internal.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/io.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"

static const struct {
	const char *request;
	unsigned int deadline_ms;
	size_t offset, size; /* of the field in struct facts for the first line */
	size_t room;	     /* offset of the room for all lines; 0: none */
} rows[GUARD_COUNT] = {
	[GUARD_CRITICAL] = { "critical", 5000, offsetof(struct facts, critical),
			     sizeof(((struct facts *)0)->critical), 0 },
	[GUARD_HOLDERS] = { "holders", 5000, offsetof(struct facts, holder),
			    sizeof(((struct facts *)0)->holder), offsetof(struct facts, holders) },
};

/* A line of the answer, cut in place. */
struct line {
	const char *id;
	const char *text;
};

static int by_id(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int c = strcmp(x->id, y->id);

	/* Keeps the order of a device's lines, which lie in one buffer. */
	return c ? c : (x->text > y->text) - (x->text < y->text);
}

static struct line *cut_lines(char *text, size_t *ret_n)
{
	struct line *v;
	size_t n = 0;
	char *save;

	for (const char *p = text; (p = strchr(p, '\n')); p++)
		n++;
	v = calloc(n + 1, sizeof(*v));
	*ret_n = 0;
	if (!v)
		return NULL;
	for (char *p = strtok_r(text, "\n", &save); p; p = strtok_r(NULL, "\n", &save)) {
		char *blank = strchr(p, ' ');

		if (!blank)
			continue;
		*blank = '\0';
		v[(*ret_n)++] = (struct line){ p, blank + 1 };
	}
	qsort(v, *ret_n, sizeof(*v), by_id);
	return v;
}

static int to_id(const void *row, const void *id)
{
	return strcmp(((const struct line *)row)->id, id);
}

/* The index of the first line of id, or where it would be. */
static size_t first_of(const struct line *v, size_t n, const char *id)
{
	return rows_first(v, n, sizeof(*v), id, to_id);
}

/* Stores the lines of one device unless a newer answer is there. Call it with the model locked. */
static void apply_one(struct backend *b, enum guard guard, const struct view *view,
		      const struct device *dev, const struct line *v, size_t n)
{
	const char *facts = (const char *)&dev->facts;
	const struct room *room =
		rows[guard].room ? (const struct room *)(facts + rows[guard].room) : NULL;
	size_t at = rows[guard].offset, size = rows[guard].size;
	const char *first = "";
	char id[KEY_NAME + 8];
	struct device *edit = NULL;
	struct out all = { 0 };
	bool looked, known;

	if (view_is_old(view, &dev->key))
		return;
	key_id(&dev->key, id);
	for (size_t i = first_of(v, n, id), k = 0; i < n && !strcmp(v[i].id, id); i++, k++) {
		if (!k)
			first = v[i].text;
		out_printf(&all, "%s%s", k ? "\n" : "", v[i].text);
	}
	known = !strncmp(first, facts + at, size - 1) && (!room || room_is(room, out_text(&all), all.len));
	/* A question from before the release says nothing about processes that still hold it. */
	looked = guard == GUARD_HOLDERS && dev->let_go && dev->let_go < view->began_us;
	if (looked || !known)
		edit = model_edit(b->model, &dev->key, false);
	if (edit) {
		str_copy((char *)&edit->facts + at, size, first);
		if (room)
			model_set_text(b->model,
				       (struct room *)((char *)&edit->facts + rows[guard].room),
				       out_text(&all), all.len);
		if (looked)
			edit->let_go = 0;
	}
	out_free(&all);
}

static void apply(struct backend *b, enum guard guard, const struct question *q, struct view *view,
		  const struct line *v, size_t n)
{
	struct views *views = &b->guards.views[guard];
	const struct device *dev;
	size_t pos = 0;

	model_lock(b->model);
	view_end(views, view);
	if (q->all)
		view_tell(views, view, NULL);
	while (q->all && (dev = model_next(b->model, &pos)))
		apply_one(b, guard, view, dev, v, n);
	for (size_t i = 0; i < q->n && !q->all; i++) {
		view_tell(views, view, &q->devs[i]);
		dev = model_find(b->model, &q->devs[i]);
		if (dev)
			apply_one(b, guard, view, dev, v, n);
	}
	model_publish(b->model);
	model_unlock(b->model);
}

/* A number of processes from a line such as "- unseen=3", for health. */
static unsigned int number_of(const struct line *v, size_t n, const char *key)
{
	size_t len = strlen(key);
	uint64_t number = 0;

	for (size_t at = first_of(v, n, "-"); at < n && !strcmp(v[at].id, "-"); at++)
		if (!strncmp(v[at].text, key, len) &&
		    !parse_u64(v[at].text + len, UINT32_MAX, &number))
			return (unsigned int)number;
	return 0;
}

/* The pid in a line such as "unsure pid=812 comm=...", or 0. */
static pid_t pid_of(const char *text)
{
	const char *p = strncmp(text, "unsure ", 7) ? text : text + 7;
	char number[12] = "";
	uint64_t pid;

	if (sscanf(p, "pid=%11[0-9] ", number) != 1 || parse_u64(number, INT32_MAX, &pid))
		return 0;
	return (pid_t)pid;
}

/* A process that ends closes its devices. */
static void await_ends(struct backend *b, const struct question *q, const struct line *v, size_t n)
{
	pid_t pids[ENDS_MAX];
	size_t k = 0;

	for (size_t i = 0; i < n && k < ENDS_MAX; i++) {
		pids[k] = pid_of(v[i].text);
		k += pids[k] > 0;
	}
	ends_watch(&b->ends, pids, k, q->all);
}

static void note_holders(struct backend *b, const struct question *q, const struct line *v,
			 size_t n)
{
	await_ends(b, q, v, n);
	atomic_store(&b->guards.unseen, number_of(v, n, "unseen="));
	atomic_store(&b->guards.unknown, number_of(v, n, "unknown="));
}

bool question_has(const struct question *q, const struct key *key)
{
	bool has = q->all;

	for (size_t i = 0; i < q->n && !has; i++)
		has = key_eq(&q->devs[i], key);
	return has;
}

void question_add(struct question *q, const struct key *key)
{
	if (key && question_has(q, key))
		return;
	if (!key || q->n == QUESTION_MAX)
		q->all = true;
	else
		q->devs[q->n++] = *key;
}

#define IDS_MAX (QUESTION_MAX * (KEY_NAME + 8))

/* Ids separated by blanks; "" for all. */
static void name_devices(const struct question *q, char buf[static IDS_MAX])
{
	char id[KEY_NAME + 8];
	size_t at = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < q->n && !q->all; i++)
		at += (size_t)snprintf(buf + at, IDS_MAX - at, "%s%s", at ? " " : "",
				       key_id(&q->devs[i], id));
}

static int answer(struct backend *b, enum guard guard, const struct question *q, struct view *view,
		  struct out *text)
{
	_free_ struct line *v = NULL;
	size_t n = 0;

	if (text->failed)
		return -ENOMEM;
	if (text->data) {
		v = cut_lines(text->data, &n);
		if (!v)
			return -ENOMEM;
	}
	apply(b, guard, q, view, v, n);
	if (guard == GUARD_HOLDERS)
		note_holders(b, q, v, n);
	return view->failed ? -ENOMEM : 0;
}

int guard_ask(struct backend *b, enum guard guard, const struct question *q)
{
	char devices[IDS_MAX];
	const char *const argv[] = { rows[guard].request, devices, NULL };
	struct out text = { 0 };
	struct view view;
	int rc;

	name_devices(q, devices);
	view_begin(&b->guards.views[guard], &view);
	rc = io_call(b->io, argv, rows[guard].deadline_ms, &text, NULL, NULL);
	/* A failure does not mean "nobody": the old facts stay. */
	rc = rc ? rc : answer(b, guard, q, &view, &text);
	view_end(&b->guards.views[guard], &view);
	view_free(&view);
	out_free(&text);
	atomic_store(&b->guards.results[guard], rc);
	return rc;
}

unsigned int guard_deadline(enum guard guard)
{
	return rows[guard].deadline_ms;
}

void guard_want_node(struct backend *b, const char *node)
{
	const struct device *found[GROUP_MAX], *dev;
	size_t n = 0;
	int32_t group;

	model_lock(b->model);
	if (node_group(node, &group))
		n = model_group(b->model, group, found, GROUP_MAX);
	else if ((dev = node_device(b->model, node)))
		found[n++] = dev;
	for (size_t i = 0; i < n; i++)
		guard_want(b, GUARD_HOLDERS, n > GROUP_MAX ? NULL : &found[i]->key);
	model_unlock(b->model);
}

int guard_or_fail(struct backend *b, enum guard guard, const struct key *devs, size_t n,
		  struct err *err)
{
	static const char *const whats[GUARD_COUNT] = {
		[GUARD_CRITICAL] = "what the host itself needs",
		[GUARD_HOLDERS] = "which processes hold the devices",
	};
	int rc = guard_run(b, guard, devs, n);

	return rc ? fail(err, -rc, "cannot determine %s: %s; see health", whats[guard],
			 strerror(-rc))
		  : 0;
}

/* A VF that waits to become a vGPU has no node that anybody could open (backend/gpu/vgpu.c). */
static bool may_be_held(const struct device *dev)
{
	return !(dev->facts.caps & CAP_VGPU) || dev->facts.mdevs || dev->facts.nodes[0] ||
	       dev->facts.use != USE_NONE;
}

bool guard_may_tell(enum guard guard, const struct device *dev)
{
	if (guard == GUARD_HOLDERS)
		return may_be_held(dev) || dev->facts.holder[0] || dev->let_go;
	return !(dev->facts.caps & CAP_VGPU) || dev->facts.critical[0];
}

/* Selects devices that an operation could take away. A device that a guest can have, or a VF before
 * it is a vGPU, has nothing below it that the host could need, so GUARD_CRITICAL skips it. If
 * nobody could hold any of them, GUARD_HOLDERS, which walks all of /proc, has nothing to ask. */
static size_t select_guarded(struct backend *b, enum guard guard, const struct touched *v, size_t n,
			     struct key *ret)
{
	bool any = guard == GUARD_CRITICAL;
	size_t found = 0;

	model_lock(b->model);
	for (size_t i = 0; i < n; i++) {
		const struct device *dev = model_find(b->model, &v[i].key);

		if (!dev || !(dev->caps & CAP_CLAIM) ||
		    (guard == GUARD_CRITICAL &&
		     (dev->facts.use == USE_GUEST || !may_be_held(dev))))
			continue;
		ret[found++] = dev->key;
		any |= may_be_held(dev);
	}
	model_unlock(b->model);
	return any ? found : 0;
}

int guards_ask(struct backend *b, const struct touched *v, size_t n, struct err *err)
{
	_free_ struct key *devs = calloc(n + 1, sizeof(*devs));
	int rc = devs ? 0 : fail(err, ENOMEM, "no memory to examine the devices");

	for (int guard = 0; guard < GUARD_COUNT && !rc; guard++) {
		size_t found = select_guarded(b, guard, v, n, devs);

		rc = found ? guard_or_fail(b, guard, devs, found, err) : 0;
	}
	return rc;
}
