// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/table.h"

#include <errno.h>
#include <string.h>
#include <stdlib.h>

#include "pcidevfs/util.h"

#define GAP 2

static void put_ascii(struct out *out, const char *text, size_t len)
{
	out_put(out, text, len);
	for (char *at = out->failed ? NULL : out->data + out->len - len; at && len--; at++)
		if (*at < ' ' || *at > '~')
			*at = '?';
}

/* At most `width` characters, without the middle. Returns how many. */
static unsigned int put_fitted(struct out *out, const char *text, unsigned int width)
{
	size_t len = strlen(text), head;

	if (len <= width || width < 8) {
		len = len < width ? len : width;
		put_ascii(out, text, len);
		return (unsigned int)len;
	}
	head = (width - 1) / 2;
	put_ascii(out, text, head);
	out_put(out, "..", 2);
	put_ascii(out, text + len - (width - head - 2), width - head - 2);
	return width;
}

int table_row(struct table *t, const char *const *cells)
{
	size_t bytes = t->n_columns * sizeof(*t->cells);
	void *more = more_rows(t->cells, t->rows, &t->cap, bytes);

	if (!more)
		return -ENOMEM;
	t->cells = more;
	memcpy(&t->cells[t->rows++ * t->n_columns], cells, bytes);
	return 0;
}

/* Widths, which are 0, that the cells need; 0: nothing stands in the column. */
static void measure(const struct table *t, unsigned int *width)
{
	for (size_t i = 0; i < t->rows * t->n_columns; i++) {
		size_t len = strlen(t->cells[i]), c = i % t->n_columns;

		if (len > width[c])
			width[c] = len > 10000 ? 10000 : (unsigned int)len;
	}
	for (size_t c = 0; c < t->n_columns; c++) {
		unsigned int head = (unsigned int)strlen(t->columns[c].head);

		if ((width[c] || !c) && width[c] < head)
			width[c] = head;
	}
}

/* Of all columns; with `least` each is as narrow as it may be. */
static unsigned int sum(const struct table *t, const unsigned int *width, bool least)
{
	unsigned int total = 0, w;

	for (size_t c = 0; c < t->n_columns; c++) {
		w = least && width[c] > t->columns[c].least ? t->columns[c].least : width[c];
		total += w ? w + (total ? GAP : 0) : 0;
	}
	return total;
}

/* The column that is worth least, or that can best spare a character; 0: there is none. */
static size_t find(const struct table *t, const unsigned int *width, bool spare)
{
	unsigned int most = 0, is;
	size_t best = 0;

	for (size_t c = spare ? 0 : 1; c < t->n_columns; c++) {
		is = !spare			      ? (width[c] ? t->columns[c].rank : 0)
		     : width[c] > t->columns[c].least ? width[c] - t->columns[c].least
						      : 0;
		if (is > most) {
			most = is;
			best = c;
		}
	}
	return best;
}

static void fit(const struct table *t, unsigned int most, unsigned int *width)
{
	size_t c;

	measure(t, width);
	while (most && sum(t, width, true) > most && (c = find(t, width, false)))
		width[c] = 0;
	while (most && sum(t, width, false) > most && width[c = find(t, width, true)] > 1)
		width[c]--;
}

static void put_line(const struct table *t, const char *const *cells, const unsigned int *width,
		     struct out *out)
{
	unsigned int pad = 0;

	for (size_t c = 0; c < t->n_columns; c++) {
		const char *text = cells ? cells[c] : t->columns[c].head;

		if (!width[c])
			continue;
		out_printf(out, "%*s", (int)pad, "");
		pad = width[c] - put_fitted(out, *text ? text : "-", width[c]) + GAP;
	}
	out_put(out, "\n", 1);
}

void table_print(const struct table *t, unsigned int width, struct out *out)
{
	unsigned int widths[TABLE_COLUMNS] = { 0 };

	fit(t, width, widths);
	put_line(t, NULL, widths, out);
	for (size_t i = 0; i < t->rows; i++)
		put_line(t, t->cells + i * t->n_columns, widths, out);
}

void table_free(struct table *t)
{
	free(t->cells);
	t->cells = NULL;
}
