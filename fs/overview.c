// SPDX-License-Identifier: GPL-2.0-or-later
/* overview: one aligned table of all devices, for people. Its columns are rows of the tree that
 * inventory has too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "inventory.h"
#include "pcidevfs/device.h"
#include "pcidevfs/util.h"

#define WIDTH 120
#define GAP 2

/* Sum of least and the gaps between: at most WIDTH. */
static const struct column {
	const char *head;
	const char *files[3]; /* the first that is not none; without any: the id */
	unsigned int least;   /* it gets at least so many characters if it needs them */
} columns[] = {
	{ "ADDRESS", { NULL }, 12 },
	{ "NAME", { "netdev", "disk", "drm" }, 11 },
	{ "WHAT", { "profile", "description" }, 27 },
	{ "DRIVER", { "driver" }, 11 },
	{ "GROUP", { "iommu_group" }, 5 },
	{ "STATE", { "state" }, 9 },
	{ "CLAIM", { "claim" }, 12 },
	{ "POD", { "allocated_to" }, 18 },
};

#define COLUMNS ARRAY_SIZE(columns)

struct line {
	char *cells[COLUMNS];
};

struct table {
	struct tree *tree;
	struct line *lines;
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

/* Prints the file's text; false: the device has no such file in inventory, or it reads none. */
static bool read_file(const struct table *t, const struct device *dev, const char *file,
		      struct out *o)
{
	enum obj_kind kind = kind_of_bus(dev->key.bus);
	const struct attr *row = attr_by_name(kind, 0, file);
	struct subject s = { .tree = t->tree, .name = dev->key.name, .dev = dev };

	if (!row || !row->key || !row_fits(row, dev->caps))
		return false;
	row->show(&s, o);
	return strcmp(out_text(o), "none\n") != 0;
}

/* "VGA compatible controller: NVIDIA Corporation GA107 [A2]" without its class, which the name of
 * most products tells; that of a bridge does not. Of a link the last name. */
static char *shorter(const struct device *dev, char *text)
{
	char *name = strstr(dev->names.description, ": ");

	text[strcspn(text, "\n")] = '\0';
	if (!strncmp(text, "../", 3))
		return strrchr(text, '/') + 1;
	if (!name || !name[2] || dev->kind == KIND_BRIDGE || strcmp(text, dev->names.description))
		return text;
	return text + (name - dev->names.description) + 2;
}

static char *make_cell(const struct table *t, const struct device *dev, const struct column *c)
{
	char id[KEY_NAME + 8], *cell = NULL;

	if (!c->files[0])
		return strdup(key_id(&dev->key, id));
	for (size_t i = 0; i < ARRAY_SIZE(c->files) && c->files[i] && !cell; i++) {
		struct out o = { 0 };

		if (read_file(t, dev, c->files[i], &o) && o.data)
			cell = strdup(shorter(dev, o.data));
		out_free(&o);
	}
	return cell ? cell : strdup("-");
}

static void add_line(const struct device *dev, void *ctx)
{
	struct table *t = ctx;
	struct line *lines = more_rows(t->lines, t->n, &t->cap, sizeof(*lines));
	struct line *line;

	if (!lines) {
		t->failed = true;
		return;
	}
	t->lines = lines;
	line = &lines[t->n++];
	for (size_t i = 0; i < COLUMNS; i++) {
		size_t len;

		line->cells[i] = make_cell(t, dev, &columns[i]);
		if (!line->cells[i]) {
			t->failed = true;
			continue;
		}
		clean(line->cells[i]);
		len = strlen(line->cells[i]);
		if (len > t->need[i])
			t->need[i] = (unsigned int)len;
	}
}

/* What is left goes to the columns that need more, one character each in turn. */
static void share_width(struct table *t)
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

static void print_line(const struct table *t, const char *const cells[COLUMNS], struct out *o)
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
	struct table t = { .tree = s->tree };
	const char *heads[COLUMNS];

	for (size_t i = 0; i < COLUMNS; i++) {
		heads[i] = columns[i].head;
		t.need[i] = (unsigned int)strlen(heads[i]);
	}
	each_device(s->tree->conf.model, add_line, &t, &t.failed);
	share_width(&t);
	if (!t.failed)
		print_line(&t, heads, o);
	for (size_t i = 0; i < t.n; i++) {
		if (!t.failed)
			print_line(&t, (const char *const *)t.lines[i].cells, o);
		for (size_t c = 0; c < COLUMNS; c++)
			free(t.lines[i].cells[c]);
	}
	free(t.lines);
	o->failed |= t.failed;
}
