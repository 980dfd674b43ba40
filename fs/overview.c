// SPDX-License-Identifier: GPL-2.0-or-later
/* overview: one aligned table of all devices, for people. Its columns are rows of the tree that
 * inventory has too. A claimed device that is not here has a line as well, by its intent. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "inventory.h"
#include "pcidevfs/device.h"
#include "pcidevfs/intent.h"
#include "pcidevfs/table.h"
#include "pcidevfs/util.h"

#define WIDTH 120

#define OF(field) offsetof(struct absent, field)
#define NONE SIZE_MAX

static const struct column {
	struct table_column is;
	const char *files[3]; /* the first that is not none; without any: the id */
	size_t absent;	      /* what it tells of a device that is not here */
} columns[] = {
	{ { "ADDRESS", 12, 0 }, { NULL }, OF(at) },
	{ { "NAME", 11, 0 }, { "netdev", "disk", "drm" }, NONE },
	{ { "WHAT", 27, 0 }, { "profile", "description" }, OF(reason) },
	{ { "DRIVER", 11, 0 }, { "driver" }, NONE },
	{ { "GROUP", 5, 0 }, { "iommu_group" }, NONE },
	{ { "STATE", 9, 0 }, { "state" }, OF(state) },
	{ { "CLAIM", 12, 0 }, { "claim" }, OF(claim) },
	{ { "POD", 18, 0 }, { "allocated_to" }, NONE },
};

#define COLUMNS ARRAY_SIZE(columns)

struct overview_line {
	char *cells[COLUMNS];
};

struct overview {
	struct tree *tree;
	struct overview_line *lines;
	size_t n, cap;
	bool failed;
};

/* "VGA compatible controller: NVIDIA Corporation GA107 [A2]" without its class, which the name of
 * most products tells; that of a bridge does not. */
static const char *shorter(const struct device *dev, const char *text)
{
	const char *name = strstr(dev->names.description, ": ");

	if (!name || !name[2] || dev->kind == KIND_BRIDGE || strcmp(text, dev->names.description))
		return text;
	return text + (name - dev->names.description) + 2;
}

static char *make_cell(const struct overview *t, const struct device *dev, const struct column *c)
{
	const struct subject s = { .tree = t->tree, .dev = dev };
	char id[KEY_NAME + 8], *cell = NULL;
	struct out text = { 0 };

	if (!c->files[0])
		return strdup(key_id(&dev->key, id));
	for (size_t i = 0; i < ARRAY_SIZE(c->files) && c->files[i] && !cell; i++) {
		const struct attr *row = attr_by_name(kind_of_bus(dev->key.bus), c->files[i]);
		bool has = row && row->key && row_fits(row, dev->caps);
		const char *value = has ? row_value(row, &s, &text) : NULL;

		if (value && strcmp(value, "none"))
			cell = strdup(shorter(dev, value));
	}
	out_free(&text);
	return cell ? cell : strdup("-");
}

static struct overview_line *new_line(struct overview *t)
{
	struct overview_line *lines = more_rows(t->lines, t->n, &t->cap, sizeof(*lines));

	t->failed |= !lines;
	if (!lines)
		return NULL;
	t->lines = lines;
	lines[t->n] = (struct overview_line){ 0 };
	return &lines[t->n++];
}

static void add_line(const struct device *dev, void *ctx)
{
	struct overview_line *line = new_line(ctx);

	for (size_t i = 0; i < COLUMNS && line; i++)
		line->cells[i] = make_cell(ctx, dev, &columns[i]);
}

static void add_absent(void *ctx, const struct absent *a)
{
	struct overview_line *line = new_line(ctx);

	for (size_t i = 0; i < COLUMNS && line; i++) {
		size_t at = columns[i].absent;
		const char *text = at == NONE ? "-" : *(const char *const *)((const char *)a + at);

		line->cells[i] = strdup(*text ? text : "-");
	}
}

static int by_address(const void *a, const void *b)
{
	const struct overview_line *x = a, *y = b;

	return strcmp(x->cells[0], y->cells[0]);
}

void overview_show(const struct subject *s, struct out *o)
{
	struct overview t = { .tree = s->tree };
	struct table_column heads[COLUMNS];
	struct table table = { .columns = heads, .n_columns = COLUMNS };

	for (size_t i = 0; i < COLUMNS; i++)
		heads[i] = columns[i].is;
	each_device(s->tree->conf.model, add_line, &t, &t.failed);
	if (s->tree->conf.intents)
		intents_absent(s->tree->conf.intents, add_absent, &t);
	for (size_t i = 0; i < t.n * COLUMNS; i++)
		t.failed |= !t.lines[i / COLUMNS].cells[i % COLUMNS];
	if (t.n && !t.failed)
		qsort(t.lines, t.n, sizeof(*t.lines), by_address);
	for (size_t i = 0; i < t.n && !t.failed; i++)
		t.failed = table_row(&table, (const char *const *)t.lines[i].cells);
	if (!t.failed)
		table_print(&table, WIDTH, o);
	for (size_t i = 0; i < t.n * COLUMNS; i++)
		free(t.lines[i / COLUMNS].cells[i % COLUMNS]);
	free(t.lines);
	table_free(&table);
	o->failed |= t.failed;
}
