// SPDX-License-Identifier: GPL-2.0-or-later
#include "inventory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pcidevfs/pair.h"
#include "pcidevfs/util.h"

static int to_id(const void *row, const void *id)
{
	return strcmp((*(struct inv_dev *const *)row)->id, id);
}

static struct inv_dev *find(const struct inventory *inv, const char *id, size_t *ret_at)
{
	*ret_at = rows_first(inv->v, inv->n, sizeof(*inv->v), id, to_id);
	return *ret_at < inv->n && !strcmp(inv->v[*ret_at]->id, id) ? inv->v[*ret_at] : NULL;
}

static void dev_free(struct inv_dev *d)
{
	if (!d)
		return;
	free(d->id);
	free(d->pairs);
	free(d->keys);
	free(d);
}

/* The first of two with one key comes first. */
static int by_key(const void *a, const void *b, void *pairs)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = strcmp((char *)pairs + x, (char *)pairs + y);

	return order ? order : (x > y) - (x < y);
}

static bool note_key(struct inv_dev *d, size_t *cap, size_t at)
{
	uint32_t *keys = more_rows(d->keys, d->n, cap, sizeof(*keys));

	if (!keys)
		return false;
	d->keys = keys;
	keys[d->n++] = (uint32_t)at;
	return true;
}

/* Returns 0; -EINVAL; -ENOMEM. */
static int read_pairs(struct inv_dev *d, char *pairs)
{
	struct out text = { 0 };
	size_t cap = 0;
	struct pair p;
	int r;

	while ((r = pair_next(&pairs, &p)) == 1) {
		if (!p.key[0])
			continue;
		str_clean(p.value); /* a server refuses an object for one such byte */
		text.failed |= text.len > UINT32_MAX || !note_key(d, &cap, text.len);
		out_put(&text, p.key, strlen(p.key) + 1);
		out_put(&text, p.value, strlen(p.value) + 1);
	}
	d->pairs = text.data;
	d->len = text.len;
	if (r || text.failed)
		return r ? -EINVAL : -ENOMEM;
	if (d->n)
		qsort_r(d->keys, d->n, sizeof(*d->keys), by_key, d->pairs);
	return 0;
}

int inventory_take(void *table, const char *id, char *pairs)
{
	struct inventory *inv = table;
	struct inv_dev **v = more_rows(inv->v, inv->n, &inv->cap, sizeof(*v));
	struct inv_dev *d = v ? calloc(1, sizeof(*d)) : NULL, *was;
	int rc = d ? read_pairs(d, pairs) : -ENOMEM;
	size_t at;

	inv->v = v ? v : inv->v;
	if (!rc && !(d->id = strdup(id)))
		rc = -ENOMEM;
	if (rc) {
		dev_free(d);
		return rc;
	}
	d->here = true;
	was = find(inv, id, &at);
	dev_free(was);
	if (!was)
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

struct wanted {
	const char *pairs, *key;
};

static int to_key(const void *at, const void *wanted)
{
	const struct wanted *w = wanted;

	return strcmp(w->pairs + *(const uint32_t *)at, w->key);
}

static const char *value_of(const struct inv_dev *d, const char *key)
{
	const struct wanted w = { d->pairs, key };
	size_t at = rows_first(d->keys, d->n, sizeof(*d->keys), &w, to_key);

	if (at == d->n || to_key(&d->keys[at], &w))
		return NULL;
	return d->pairs + d->keys[at] + strlen(key) + 1;
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

bool dev_is_vgpu(const struct inv_dev *d)
{
	return !strcmp(dev_get(d, "kind"), "vgpu");
}

bool dev_is_busy(const struct inv_dev *d)
{
	return !strcmp(dev_get(d, "state"), "busy");
}

bool dev_is_one_group(const struct inv_dev *a, const struct inv_dev *b)
{
	const char *group = dev_get(a, "iommu_group");

	return *group && !strcmp(group, dev_get(b, "iommu_group"));
}
