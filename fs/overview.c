// SPDX-License-Identifier: GPL-2.0-or-later
/* overview: one aligned table of all devices, for people. Its columns are rows of the tree that
 * inventory has too. A claimed device that is not here has a line as well, by its intent. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "inventory.h"
#include "pcidevfs/device.h"
#include "pcidevfs/intent.h"
#include "pcidevfs/util.h"

#define WIDTH 120
#define GAP 2

#define OF(field) offsetof(struct absent, field)
#define NONE SIZE_MAX

/* Sum of least and the gaps between: at most WIDTH. */
static const struct column {
	const char *head;
	const char *files[3]; /* the first that is not none; without any: the id */
	unsigned int least;   /* it gets at least so many characters if it needs them */
	size_t absent;	      /* what it tells of a device that is not here */
} columns[] = {
	{ "ADDRESS", { NULL }, 12, OF(at) },
	{ "NAME", { "netdev", "disk", "drm" }, 11, NONE },
	{ "WHAT", { "profile", "description" }, 27, OF(reason) },
	{ "DRIVER", { "driver" }, 11, NONE },
	{ "GROUP", { "iommu_group" }, 5, NONE },
	{ "STATE", { "state" }, 9, OF(state) },
	{ "CLAIM", { "claim" }, 12, OF(claim) },
	{ "POD", { "allocated_to" }, 18, NONE },
};

#define COLUMNS ARRAY_SIZE(columns)

struct overview_line {
	char *cells[COLUMNS];
};

struct overview {
	struct tree *tree;
	struct overview_line *lines;
	size_t n, cap;
	unsigned int need[COLUMNS], width[COLUMNS];
	bool failed;
};

/* Others could be wider than a character, or act on a terminal. */
static void clean(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

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

/* Takes over the cell; NULL: no memory. */
static void put_cell(struct overview *t, struct overview_line *line, size_t i, char *cell)
{
	size_t len;

	line->cells[i] = cell;
	t->failed |= !cell;
	if (!cell)
		return;
	clean(cell);
	len = strlen(cell);
	if (len > t->need[i])
		t->need[i] = (unsigned int)len;
}

static void add_line(const struct device *dev, void *ctx)
{
	struct overview_line *line = new_line(ctx);

	for (size_t i = 0; i < COLUMNS && line; i++)
		put_cell(ctx, line, i, make_cell(ctx, dev, &columns[i]));
}

static void add_absent(void *ctx, const struct absent *a)
{
	struct overview_line *line = new_line(ctx);

	for (size_t i = 0; i < COLUMNS && line; i++) {
		size_t at = columns[i].absent;
		const char *text = at == NONE ? "-" : *(const char *const *)((const char *)a + at);

		put_cell(ctx, line, i, strdup(*text ? text : "-"));
	}
}

static int by_address(const void *a, const void *b)
{
	const struct overview_line *x = a, *y = b;

	return strcmp(x->cells[0], y->cells[0]);
}

/* What is left goes to the columns that need more, one character each in turn. */
static void share_width(struct overview *t)
{
	unsigned int left = WIDTH - GAP * (COLUMNS - 1);
	bool more = true;

	for (size_t i = 0; i < COLUMNS; i++) {
		t->width[i] = t->need[i] < columns[i].least ? t->need[i] : columns[i].least;
		left -= t->width[i];
	}
	while (left && more) {
		more = false;
		for (size_t i = 0; i < COLUMNS && left; i++)
			if (t->width[i] < t->need[i]) {
				t->width[i]++;
				left--;
				more = true;
			}
	}
}

/* Without its middle if it is too long. */
static void print_cell(struct out *o, const char *text, unsigned int width)
{
	size_t len = strlen(text), tail = (width - 2) / 2;

	if (len <= width)
		out_printf(o, "%s", text);
	else
		out_printf(o, "%.*s..%s", (int)(width - 2 - tail), text, text + len - tail);
}

static void print_line(const struct overview *t, const char *const cells[COLUMNS], struct out *o)
{
	unsigned int at = 0, end = 0;

	for (size_t i = 0; i < COLUMNS; i++) {
		size_t before;

		out_printf(o, "%*s", (int)(at - end), "");
		before = o->len;
		print_cell(o, cells[i], t->width[i]);
		end = at + (unsigned int)(o->len - before);
		at += t->width[i] + GAP;
	}
	out_put(o, "\n", 1);
}

void overview_show(const struct subject *s, struct out *o)
{
	struct overview t = { .tree = s->tree };
	const char *heads[COLUMNS];

	for (size_t i = 0; i < COLUMNS; i++) {
		heads[i] = columns[i].head;
		t.need[i] = (unsigned int)strlen(heads[i]);
	}
	each_device(s->tree->conf.model, add_line, &t, &t.failed);
	if (s->tree->conf.intents)
		intents_absent(s->tree->conf.intents, add_absent, &t);
	share_width(&t);
	if (!t.failed) {
		if (t.n)
			qsort(t.lines, t.n, sizeof(*t.lines), by_address);
		print_line(&t, heads, o);
	}
	for (size_t i = 0; i < t.n; i++) {
		if (!t.failed)
			print_line(&t, (const char *const *)t.lines[i].cells, o);
		for (size_t c = 0; c < COLUMNS; c++)
			free(t.lines[i].cells[c]);
	}
	free(t.lines);
	o->failed |= t.failed;
}
