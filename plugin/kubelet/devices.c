// SPDX-License-Identifier: GPL-2.0-or-later
#include "devices.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "pcidevfs/util.h"

#include "client/line.h"
#include "bus.h"

static void dev_free(struct dev *d)
{
	if (!d)
		return;
	free(d->given);
	free(d);
}

typedef int compare_devs(const struct dev *a, const struct dev *b);

static int by_id(const struct dev *a, const struct dev *b)
{
	return strcmp(a->id, b->id);
}

static int by_group(const struct dev *a, const struct dev *b)
{
	return a->group != b->group ? (a->group < b->group ? -1 : 1) : by_id(a, b);
}

/* The index of the first one that is not before d. */
static size_t place_of(struct dev *const *v, size_t n, const struct dev *d, compare_devs *compare)
{
	size_t from = 0;

	while (from < n) {
		size_t mid = from + (n - from) / 2;

		if (compare(v[mid], d) < 0)
			from = mid + 1;
		else
			n = mid;
	}
	return from;
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

/* The keys of the line that are kept. */
static const struct line_field fields[] = {
	{ "resource_name", offsetof(struct dev, resource), false },
	{ "claim", offsetof(struct dev, claim), false },
	{ "state", offsetof(struct dev, state), false },
	{ "reason", offsetof(struct dev, reason), false },
	{ "nodes", offsetof(struct dev, nodes), false },
	{ "allocated_to", offsetof(struct dev, allocated), false },
	{ "allocated_nodes", offsetof(struct dev, kept), false },
	{ "allocated_as", offsetof(struct dev, as), false },
	{ "mdev_uuid", offsetof(struct dev, mdev), false },
	{ "kind", offsetof(struct dev, kind), false },
	{ "profile_id", offsetof(struct dev, profile_id), false },
	{ "numa_node", offsetof(struct dev, numa), true },
	{ "iommu_group", offsetof(struct dev, group), true },
	{ "busnum", offsetof(struct dev, busnum), true },
	{ "devnum", offsetof(struct dev, devnum), true },
};
static const struct line_type dev_line = { fields, ARRAY_SIZE(fields), offsetof(struct dev, id),
					   sizeof(struct dev) };

static int insert(struct devices *t, struct dev *d)
{
	size_t cap = t->cap;
	struct dev **v = more_rows(t->v, t->n, &cap, sizeof(t->v[0]));
	struct dev **g = v ? more_rows(t->by_group, t->n, &t->cap, sizeof(t->v[0])) : NULL;

	t->v = v ? v : t->v;
	if (!g)
		return -ENOMEM;
	t->by_group = g;
	put_in(v, t->n, d, by_id);
	put_in(g, t->n, d, by_group);
	t->n++;
	return 0;
}

static void drop(struct devices *t, struct dev *d)
{
	if (!d)
		return;
	take_out(t->v, t->n, d, by_id);
	take_out(t->by_group, t->n, d, by_group);
	t->n--;
	dev_free(d);
}

static bool same_shape(const struct dev *a, const struct dev *b)
{
	return a->group == b->group && !strcmp(a->resource, b->resource) &&
	       !strcmp(a->nodes, b->nodes) && !strcmp(dev_kubelet_id(a), dev_kubelet_id(b));
}

/* Copies what is known besides the tree's line. */
static void inherit(struct devices *t, struct dev *d, struct dev *old)
{
	if (!d->mdev[0] && !d->nodes[0])
		snprintf(d->last_mdev, sizeof(d->last_mdev), "%s",
			 old->mdev[0] ? old->mdev : old->last_mdev);
	if (!d->profile_id[0])
		d->by_address = old->by_address;
	d->announced = old->announced;
	d->good_at = old->good_at;
	d->pending_at = old->pending_at;
	d->given_at = old->given_at;
	d->ended_by = old->ended_by;
	d->seen = old->seen;
	d->peer_taken = old->peer_taken;
	d->told_sick = old->told_sick;
	/* Only if the lines do not show another pod. */
	if (dev_named(d) && !strcmp(d->as, old->as)) {
		d->given = old->given;
		old->given = NULL;
	}
	d->freed = dev_allocated(old) && !dev_allocated(d) ? ++t->freed : old->freed;
	t->shape += old->gone || !same_shape(d, old);
}

int devices_take(void *table, const char *id, char *pairs)
{
	struct devices *t = table;
	struct dev *d, *old = devices_find(t, id);
	struct dev line = { .here = true };
	int r = line_read(&dev_line, id, pairs, &line);

	if (r)
		return r;
	if (!line.claim[0]) {
		devices_forget(t, id);
		return 0;
	}
	d = line_copy(&dev_line, &line);
	if (!d)
		return -ENOMEM;
	d->by_address = d->profile_id[0] && !d->mdev[0];
	if (old)
		inherit(t, d, old);
	else
		t->shape++;
	drop(t, old); /* leaves room for d */
	r = insert(t, d);
	if (r)
		dev_free(d);
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
	size_t i = place_of(t->v, t->n, &(struct dev){ .id = id }, by_id);

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

	return r ? r : by_id(*x, *y);
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

bool devices_overtaken(const struct devices *t, const char *lines, uint64_t since)
{
	const char *end;

	while ((end = strstr(lines, "/allocated_to "))) {
		char id[128];
		const struct dev *d;

		snprintf(id, sizeof(id), "%.*s", (int)(end - lines), lines);
		d = devices_find(t, id);
		if (d && d->given_at >= since)
			return true;
		lines = end + strcspn(end, "\n");
		lines += *lines != '\0';
	}
	return false;
}
