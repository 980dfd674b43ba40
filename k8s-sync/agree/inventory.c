// SPDX-License-Identifier: GPL-2.0-or-later
#include "inventory.h"

#include <errno.h>
#include <string.h>

#include "pcidevfs/pair.h"
#include "pcidevfs/util.h"

/* Returns the index of the first device that is not before id. */
static size_t lower(const struct inventory *inv, const char *id)
{
	size_t lo = 0, hi = inv->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (strcmp(inv->v[mid]->id, id) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static struct inv_dev *find(const struct inventory *inv, const char *id, size_t *ret_at)
{
	*ret_at = lower(inv, id);
	return *ret_at < inv->n && !strcmp(inv->v[*ret_at]->id, id) ? inv->v[*ret_at] : NULL;
}

static void dev_free(struct inv_dev *d)
{
	if (!d)
		return;
	free(d->id);
	free(d->pairs);
	free(d);
}

static struct inv_dev *dev_read(const char *id, char *pairs)
{
	struct inv_dev *d = calloc(1, sizeof(*d));
	struct out text = { 0 };
	struct pair p;
	int r;

	while ((r = pair_next(&pairs, &p)) == 1) {
		if (!p.key[0])
			continue;
		out_put(&text, p.key, strlen(p.key) + 1);
		out_put(&text, p.value, strlen(p.value) + 1);
	}
	out_put(&text, "", 1);
	if (!d || r || text.failed || !(d->id = strdup(id))) {
		out_free(&text);
		free(d);
		errno = r ? EINVAL : ENOMEM;
		return NULL;
	}
	d->pairs = text.data;
	d->len = text.len;
	d->here = true;
	return d;
}

int inventory_take(void *table, const char *id, char *pairs)
{
	struct inventory *inv = table;
	struct inv_dev *d = dev_read(id, pairs), *was;
	struct inv_dev **v;
	size_t at;

	if (!d)
		return -errno;
	was = find(inv, id, &at);
	if (was) {
		inv->v[at] = d;
		dev_free(was);
		return 0;
	}
	v = more_rows(inv->v, inv->n, &inv->cap, sizeof(*v));
	if (!v) {
		dev_free(d);
		return -ENOMEM;
	}
	inv->v = v;
	memmove(v + at + 1, v + at, (inv->n++ - at) * sizeof(*v));
	v[at] = d;
	return 0;
}

static void drop_at(struct inventory *inv, size_t at)
{
	dev_free(inv->v[at]);
	memmove(inv->v + at, inv->v + at + 1, (--inv->n - at) * sizeof(*inv->v));
}

void inventory_drop(void *table, const char *id)
{
	struct inventory *inv = table;
	size_t at;

	if (find(inv, id, &at))
		drop_at(inv, at);
}

void inventory_begin(void *table)
{
	struct inventory *inv = table;

	for (size_t i = 0; i < inv->n; i++)
		inv->v[i]->here = false;
}

void inventory_settle(void *table)
{
	struct inventory *inv = table;

	for (size_t i = inv->n; i-- > 0;)
		if (!inv->v[i]->here)
			drop_at(inv, i);
}

void inventory_free(void *table)
{
	struct inventory *inv = table;

	for (size_t i = 0; i < inv->n; i++)
		dev_free(inv->v[i]);
	free(inv->v);
	*inv = (struct inventory){ 0 };
}

const struct inv_dev *inventory_find(const struct inventory *inv, const char *id)
{
	size_t at;

	return find(inv, id, &at);
}

static const char *value_of(const struct inv_dev *d, const char *key)
{
	for (const char *c = d->pairs, *value; *c; c = value + strlen(value) + 1) {
		value = c + strlen(c) + 1;
		if (!strcmp(c, key))
			return value;
	}
	return NULL;
}

const char *dev_get(const struct inv_dev *d, const char *key)
{
	const char *value = value_of(d, key);

	return value && strcmp(value, "none") ? value : "";
}

bool dev_has(const struct inv_dev *d, const char *key)
{
	return value_of(d, key);
}

uint64_t dev_hash(const struct inv_dev *d)
{
	return fnv1a(FNV1A, d->pairs, d->len);
}
