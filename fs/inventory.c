// SPDX-License-Identifier: GPL-2.0-or-later
/* Texts about many devices: inventory lines, and what metrics.c and overview.c go through. */
#include "inventory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "internal.h"
#include "pcidevfs/model.h"
#include "pcidevfs/pair.h"
#include "pcidevfs/util.h"

const char *row_value(const struct attr *row, const struct subject *s, struct out *text)
{
	char *v, *slash;

	text->len = 0;
	row_show(row, s, text);
	if (!text->len)
		return NULL;
	v = text->data;
	if (v[text->len - 1] == '\n')
		v[text->len - 1] = '\0';
	for (char *nl = v; (nl = strchr(nl, '\n'));)
		*nl = ' ';
	slash = S_ISLNK(row->mode) ? strrchr(v, '/') : NULL;
	return slash ? slash + 1 : v;
}

void inventory_line(struct tree *t, const struct device *dev, struct out *o)
{
	struct subject s = { .tree = t, .dev = dev };
	enum obj_kind kind = kind_of_bus(dev->key.bus);
	struct out text = { 0 };
	const struct attr *row;
	const char *value;
	char id[KEY_NAME + 8];

	out_printf(o, "%s", key_id(&dev->key, id));
	for (size_t i = 0; (row = row_at(kind, i)); i++) {
		value = row->key && row_fits(row, dev->caps) ? row_value(row, &s, &text) : NULL;
		if (value)
			out_pair(o, row->key, value);
	}
	o->failed |= text.failed;
	out_free(&text);
}

void changed_names(int bus, uint32_t caps, change_bits bits, struct out *o)
{
	enum obj_kind kind = kind_of_bus(bus);
	const struct attr *row;
	const char *sep = "";

	for (size_t i = 0; (row = row_at(kind, i)); i++) {
		if (!(row->bits & bits) || !row_fits(row, caps))
			continue;
		out_printf(o, "%s%s", sep, row->name);
		sep = ",";
	}
}

static int by_id(const void *left, const void *right)
{
	const struct key *a = left, *b = right;
	char x[KEY_NAME + 8], y[KEY_NAME + 8];

	return strcmp(key_id(a, x), key_id(b, y));
}

/* Sorted by id. Returns their number; *ret is to be freed. */
static size_t all_keys(struct model *m, struct key **ret, bool *ret_failed)
{
	size_t n = 0, cap = 0, pos = 0;
	const struct key *key;

	*ret = NULL;
	do {
		struct key *more = more_rows(*ret, n, &cap, sizeof(**ret));

		*ret_failed |= !more;
		if (!more)
			return n;
		*ret = more;
		model_lock(m);
		key = model_next_key(m, &pos);
		if (key)
			(*ret)[n++] = *key;
		model_unlock(m);
	} while (key);
	qsort(*ret, n, sizeof(**ret), by_id);
	return n;
}

size_t each_device(struct model *m, void (*take)(const struct device *dev, void *ctx), void *ctx,
		   bool *ret_failed)
{
	struct key *keys;
	size_t n = all_keys(m, &keys, ret_failed), found = 0;
	struct device copy;

	for (size_t i = 0; i < n; i++)
		if (model_copy(m, &keys[i], &copy)) {
			take(&copy, ctx);
			found++;
		}
	free(keys);
	return found;
}

void device_text(struct model *m, const struct key *key, size_t at, struct out *o)
{
	const struct device *dev;

	model_lock(m);
	dev = model_find(m, key);
	if (dev)
		model_text(m, (const struct room *)((const char *)dev + at), o);
	model_unlock(m);
}

bool type_next(char **text, struct type_line *ret)
{
	struct pair p;
	char *line;

	while ((line = strsep(text, "\n"))) {
		*ret = (struct type_line){ .name = "", .id = "" };
		while (pair_next(&line, &p) == 1) {
			if (!strcmp(p.key, "name"))
				ret->name = p.value;
			if (!strcmp(p.key, "id"))
				ret->id = p.value;
			if (!strcmp(p.key, "available") &&
			    parse_u64(p.value, INT32_MAX, &ret->available))
				ret->available = 0;
		}
		if (*ret->name)
			return true;
	}
	return false;
}

struct inventory_text {
	struct tree *tree;
	struct out text;
};

static void add_line(const struct device *dev, void *ctx)
{
	struct inventory_text *l = ctx;

	inventory_line(l->tree, dev, &l->text);
	out_put(&l->text, "\n", 1);
}

/* The generation is read first: lines may be newer than it, never older, so a reader who applies
 * the later events misses nothing. */
void inventory_show(const struct subject *s, struct out *o)
{
	struct tree *t = s->tree;
	struct inventory_text l = { .tree = t };
	uint64_t generation = atomic_load(&t->heard);
	size_t n = each_device(t->conf.model, add_line, &l, &o->failed);

	out_printf(o, "pcidevfs-inventory 1 generation=%llu", (unsigned long long)generation);
	out_pair(o, "boot", t->conf.boot_id);
	out_printf(o, " devices=%zu\n", n);
	if (l.text.data)
		out_put(o, l.text.data, l.text.len);
	o->failed |= l.text.failed;
	out_free(&l.text);
}
