// SPDX-License-Identifier: GPL-2.0-or-later
#include "devices.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "pcidevfs/pair.h"
#include "pcidevfs/util.h"

/* The keys of the line that are kept. The id stands before them. */
static const struct {
	const char *key;
	size_t at;   /* in struct dev, of a text: "" for none; or of a number */
	bool number; /* -1 if the value is none, not a number or does not fit */
} fields[] = {
	{ "", offsetof(struct dev, id) },
	{ "resource_name", offsetof(struct dev, resource) },
	{ "claim", offsetof(struct dev, claim) },
	{ "state", offsetof(struct dev, state) },
	{ "reason", offsetof(struct dev, reason) },
	{ "nodes", offsetof(struct dev, nodes) },
	{ "allocated_to", offsetof(struct dev, allocated) },
	{ "allocated_nodes", offsetof(struct dev, kept) },
	{ "allocated_as", offsetof(struct dev, as) },
	{ "mdev_uuid", offsetof(struct dev, mdev) },
	{ "kind", offsetof(struct dev, kind) },
	{ "profile_id", offsetof(struct dev, profile_id) },
	{ "numa_node", offsetof(struct dev, numa), true },
	{ "iommu_group", offsetof(struct dev, group), true },
	{ "busnum", offsetof(struct dev, busnum), true },
	{ "devnum", offsetof(struct dev, devnum), true },
};

static const char **text_at(struct dev *d, size_t field)
{
	return (const char **)((char *)d + fields[field].at);
}

static void set(struct dev *d, size_t field, const char *value)
{
	size_t at = fields[field].at;
	uint64_t n;

	if (fields[field].number)
		*(int *)((char *)d + at) = parse_u64(value, INT_MAX, &n) ? -1 : (int)n;
	else
		*text_at(d, field) = strcmp(value, "none") ? value : "";
}

/* The strings point into id and pairs. */
static int read_line(const char *id, char *pairs, struct dev *ret)
{
	struct pair p;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		set(ret, i, "none");
	while ((r = pair_next(&pairs, &p)) == 1)
		for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
			if (!strcmp(fields[i].key, p.key))
				set(ret, i, p.value);
	ret->id = id;
	return r;
}

/* Copies its strings to a text of its own. */
static int own_texts(struct dev *d)
{
	size_t size = 0;
	char *to;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		size += fields[i].number ? 0 : strlen(*text_at(d, i)) + 1;
	to = d->texts = malloc(size);
	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (!fields[i].number) {
			const char *from = *text_at(d, i);

			*text_at(d, i) = to;
			to = stpcpy(to, from) + 1;
		}
	return 0;
}

/* ---- the table */

static int by_id(const void *a, const void *b)
{
	struct dev *const *x = a, *const *y = b;

	return strcmp((*x)->id, (*y)->id);
}

static int by_group(const void *a, const void *b)
{
	struct dev *const *x = a, *const *y = b;
	int n = (*x)->group, m = (*y)->group;

	return n != m ? (n < m ? -1 : 1) : by_id(a, b);
}

typedef int compare_devs(const void *a, const void *b);

/* The index of the first one that is not before d. */
static size_t place_of(struct dev *const *v, size_t n, const struct dev *d, compare_devs *compare)
{
	return rows_first(v, n, sizeof(v[0]), &d, compare);
}

static void put_in(struct dev **v, size_t n, struct dev *d, compare_devs *compare)
{
	size_t i = place_of(v, n, d, compare);

	memmove(&v[i + 1], &v[i], (n - i) * sizeof(v[0]));
	v[i] = d;
}

static void take_out(struct dev **v, size_t n, const struct dev *d, compare_devs *compare)
{
	size_t i = place_of(v, n, d, compare);

	memmove(&v[i], &v[i + 1], (n - i - 1) * sizeof(v[0]));
}

static int insert(struct devices *t, const struct dev *line)
{
	size_t cap = t->cap;
	struct dev **v = more_rows(t->v, t->n, &cap, sizeof(t->v[0]));
	struct dev **g = v ? more_rows(t->by_group, t->n, &t->cap, sizeof(t->v[0])) : NULL;
	struct dev *d = g ? malloc(sizeof(*d)) : NULL;

	t->v = v ? v : t->v;
	t->by_group = g ? g : t->by_group;
	if (!d)
		return -ENOMEM;
	*d = *line;
	put_in(v, t->n, d, by_id);
	put_in(g, t->n, d, by_group);
	t->n++;
	t->shape++;
	return 0;
}

static void drop(struct devices *t, struct dev *d)
{
	if (!d)
		return;
	take_out(t->v, t->n, d, by_id);
	take_out(t->by_group, t->n, d, by_group);
	t->n--;
	free(d->given);
	free(d->texts);
	free(d);
}

static bool same_shape(const struct dev *a, const struct dev *b)
{
	return a->group == b->group && !strcmp(a->resource, b->resource) &&
	       !strcmp(a->nodes, b->nodes) && !strcmp(dev_kubelet_id(a), dev_kubelet_id(b));
}

_Static_assert(offsetof(struct dev, here) + sizeof(bool) == offsetof(struct dev, gone),
	       "what a line says comes first, and nothing else before `gone`");

/* The tree has another line for it; what is known besides stays. */
static void renew(struct devices *t, struct dev *d, const struct dev *line)
{
	const struct dev old = *d;

	take_out(t->by_group, t->n, d, by_group);
	memcpy(d, line, offsetof(struct dev, gone));
	put_in(t->by_group, t->n - 1, d, by_group);
	d->gone = false;
	if (d->mdev[0] || d->nodes[0])
		d->last_mdev[0] = '\0';
	else if (old.mdev[0])
		STR_COPY(d->last_mdev, old.mdev);
	if (d->profile_id[0])
		d->by_address = line->by_address;
	/* It stays only if the lines do not show another pod. */
	if (!dev_named(d) || strcmp(d->as, old.as)) {
		free(d->given);
		d->given = NULL;
	}
	if (dev_allocated(&old) && !dev_allocated(d))
		d->freed = ++t->freed;
	t->shape += old.gone || !same_shape(d, &old);
	free(old.texts);
}

int devices_take(void *table, const char *id, char *pairs)
{
	struct devices *t = table;
	struct dev line = { .here = true }, *d = devices_find(t, id);
	int r = read_line(id, pairs, &line);

	if (!r && !line.claim[0]) {
		devices_forget(t, id);
		return 0;
	}
	r = r ?: own_texts(&line);
	if (r)
		return r;
	line.by_address = line.profile_id[0] && !line.mdev[0];
	if (d)
		renew(t, d, &line);
	else
		r = insert(t, &line);
	if (r)
		free(line.texts);
	return r;
}

void devices_forget(struct devices *t, const char *id)
{
	struct dev *d = devices_find(t, id);

	t->shape += d != NULL;
	drop(t, d);
}

/* kubelet's list omits resource claims, so nobody would end such an entry. */
void devices_drop(void *table, const char *id)
{
	struct devices *t = table;
	struct dev *d = devices_find(t, id);

	if (!d || !dev_allocated(d) || !strncmp(d->allocated, "claim:", 6)) {
		devices_forget(t, id);
		return;
	}
	t->shape += !d->gone;
	d->gone = true;
}

void devices_begin(void *table)
{
	struct devices *t = table;

	for (size_t i = 0; i < t->n; i++)
		t->v[i]->here = false;
}

void devices_settle(void *table)
{
	struct devices *t = table;

	for (size_t i = t->n; i-- > 0;)
		if (!t->v[i]->here)
			devices_drop(t, t->v[i]->id);
}

void devices_free(void *table)
{
	struct devices *t = table;

	while (t->n)
		drop(t, t->v[t->n - 1]);
	free(t->v);
	free(t->by_group);
	*t = (struct devices){ 0 };
}

struct dev *devices_find(const struct devices *t, const char *id)
{
	size_t i = place_of(t->v, t->n, &(const struct dev){ .id = id }, by_id);

	return i < t->n && !strcmp(t->v[i]->id, id) ? t->v[i] : NULL;
}

struct dev *const *devices_group(const struct devices *t, const struct dev *d, size_t *ret_n)
{
	const struct dev first = { .id = d->group < 0 ? d->id : "", .group = d->group };
	struct dev *const *v = &t->by_group[place_of(t->by_group, t->n, &first, by_group)];
	size_t n = 1;

	while (d->group >= 0 && &v[n] < &t->by_group[t->n] && v[n]->group == d->group)
		n++;
	*ret_n = n;
	return v;
}

static int by_resource(const void *a, const void *b)
{
	struct dev *const *x = a, *const *y = b;
	int r = strcmp(dev_resource(*x), dev_resource(*y));

	return r ? r : by_id(a, b);
}

struct dev **devices_offered(const struct devices *t, size_t *ret_n)
{
	struct dev **v = calloc(t->n + 1, sizeof(v[0]));

	*ret_n = 0;
	for (size_t i = 0; v && i < t->n; i++)
		if (dev_offered(t->v[i]))
			v[(*ret_n)++] = t->v[i];
	if (v)
		qsort(v, *ret_n, sizeof(v[0]), by_resource);
	return v;
}

bool dev_given(struct dev *d, const char *resource)
{
	bool same = !strcmp(d->given ? d->given : dev_resource(d), resource);
	char *copy = strdup(resource);

	if (!copy)
		return false;
	free(d->given);
	d->given = copy;
	return !same;
}

void dev_kept(const struct devices *t, struct dev *d)
{
	size_t n;
	struct dev *const *group = devices_group(t, d, &n);

	for (size_t i = 0; i < n; i++)
		group[i]->kept = group[i]->nodes;
}

bool dev_allocated(const struct dev *d)
{
	return d->allocated[0];
}

bool dev_named(const struct dev *d)
{
	return dev_allocated(d) && strcmp(d->allocated, "pending");
}

bool dev_keeps_group(const struct dev *d)
{
	return dev_named(d) || (dev_allocated(d) && (d->gone || !d->given_at));
}

bool devices_overtaken(const void *table, const char *lines, uint64_t since)
{
	const char *end;

	while ((end = strstr(lines, "/allocated_to "))) {
		char id[128];
		const struct dev *d;

		snprintf(id, sizeof(id), "%.*s", (int)(end - lines), lines);
		d = devices_find(table, id);
		if (d && d->given_at >= since)
			return true;
		lines = end + strcspn(end, "\n");
		lines += *lines != '\0';
	}
	return false;
}
