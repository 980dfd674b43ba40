// SPDX-License-Identifier: GPL-2.0-or-later
/* VFs by their PF, and lines by device and file: a layout asks for thousands of them. */
#include <stdlib.h>
#include <string.h>

#include "pcidevfs/util.h"
#include "work.h"

/* What a place of an index stands for: of the inventory's device or the layout's line at that
 * position its two names, by which the index is sorted. */
typedef void names_of(const struct layout_work *w, size_t position, const char *ret[static 2]);

static void vf_names(const struct layout_work *w, size_t position, const char *ret[static 2])
{
	ret[0] = device_says(&w->view->inv->devices[position], "physfn");
	ret[1] = "";
}

static void line_names(const struct layout_work *w, size_t position, const char *ret[static 2])
{
	ret[0] = w->out->v[position].id;
	ret[1] = w->out->v[position].file;
}

struct index_place {
	const char *names[2];
	size_t position;
};

static int by_names(const void *row, const void *key)
{
	const char *const *a = ((const struct index_place *)row)->names, *const *b = key;

	return strcmp(a[0], b[0]) ?: strcmp(a[1], b[1]);
}

static int by_place(const void *left, const void *right)
{
	const struct index_place *a = left, *b = right;

	return by_names(a, b->names) ?: a->position < b->position ? -1 : 1;
}

/* Of the positions below n that have a first name. */
static int make(struct layout_work *w, size_t n, names_of *names, struct layout_index *ret)
{
	struct index_place *places = calloc(n + 1, sizeof(*places));

	layout_index_free(ret);
	if (!places)
		return fail_nomem(w->err);
	for (size_t i = 0; i < n; i++) {
		names(w, i, places[ret->n].names);
		places[ret->n].position = i;
		ret->n += *places[ret->n].names[0] != '\0';
	}
	qsort(places, ret->n, sizeof(*places), by_place);
	ret->places = places;
	return 0;
}

void layout_index_free(struct layout_index *index)
{
	free(index->places);
	*index = (struct layout_index){ 0 };
}

int layout_index_vfs(struct layout_work *w)
{
	return make(w, w->view->inv->n, vf_names, &w->vfs);
}

int layout_index_lines(struct layout_work *w)
{
	return make(w, w->out->n, line_names, &w->lines);
}

/* The n-th place with these names; NULL: there are not so many. */
static const struct index_place *find(const struct layout_index *index, const char *const names[2],
				      size_t n)
{
	size_t at = rows_first(index->places, index->n, sizeof(*index->places), names, by_names);

	if (n >= index->n - at || by_names(&index->places[at + n], names))
		return NULL;
	return &index->places[at + n];
}

const struct tree_device *layout_vf(const struct layout_work *w, const char *pf, size_t n)
{
	const struct index_place *p = find(&w->vfs, (const char *[]){ pf, "" }, n);

	return p ? &w->view->inv->devices[p->position] : NULL;
}

struct layout_line *layout_line_of(const struct layout_work *w, const char *id, const char *file,
				   size_t n)
{
	const struct index_place *p = find(&w->lines, (const char *[]){ id, file }, n);

	return p ? &w->out->v[p->position] : NULL;
}
