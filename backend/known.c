// SPDX-License-Identifier: GPL-2.0-or-later
#include "known.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "backend/gpu/types.h"
#include "pcidevfs/util.h"

#define ROWS_MAX 16384 /* most are of functions that are gone; with more, all is read again */

/* Sorted by inode, with which each row begins. */
struct rows {
	void *v;
	size_t n, cap;
};

struct type_row {
	uint64_t inode;
	size_t type;
};

struct ids_row {
	uint64_t inode;
	struct pci_ids ids;
};

struct known {
	pthread_mutex_t lock;
	struct rows ids, of_types;  /* lock; of struct ids_row, of struct type_row */
	struct vgpu_type *types;    /* lock; each once, however many functions have it */
	size_t n_types, cap_types;  /* lock */
};

struct known *known_new(void)
{
	struct known *known = calloc(1, sizeof(*known));

	if (known)
		pthread_mutex_init(&known->lock, NULL);
	return known;
}

static int to_inode(const void *row, const void *inode)
{
	uint64_t has = *(const uint64_t *)row, wanted = *(const uint64_t *)inode;

	return (has > wanted) - (has < wanted);
}

/* NULL: there is none. */
static const void *find(const struct rows *r, size_t size, uint64_t inode)
{
	size_t at = rows_first(r->v, r->n, size, &inode, to_inode);
	const char *row = at < r->n ? (const char *)r->v + at * size : NULL;

	return row && !to_inode(row, &inode) ? row : NULL;
}

static void add(struct rows *r, size_t size, const void *row)
{
	char *v = more_rows(r->v, r->n, &r->cap, size), *at;

	if (!v)
		return;
	r->v = v;
	at = v + rows_first(v, r->n, size, row, to_inode) * size;
	memmove(at + size, at, (size_t)(v + r->n++ * size - at));
	memcpy(at, row, size);
}

bool known_find(struct known *known, uint64_t inode, struct vgpu_type *type)
{
	const struct type_row *row;
	bool is;

	pthread_mutex_lock(&known->lock);
	row = find(&known->of_types, sizeof(*row), inode);
	is = row && !strcmp(known->types[row->type].id, type->id);
	if (is)
		*type = known->types[row->type];
	pthread_mutex_unlock(&known->lock);
	return is;
}

static bool is_same(const struct vgpu_type *a, const struct vgpu_type *b)
{
	return !strcmp(a->id, b->id) && !strcmp(a->name, b->name) && a->max == b->max &&
	       a->framebuffer_mib == b->framebuffer_mib;
}

/* Returns its index; SIZE_MAX: no memory. Call it with the lock held. */
static size_t intern(struct known *known, const struct vgpu_type *type)
{
	struct vgpu_type *types;
	size_t i = 0;

	while (i < known->n_types && !is_same(&known->types[i], type))
		i++;
	if (i < known->n_types)
		return i;
	types = more_rows(known->types, i, &known->cap_types, sizeof(*types));
	if (!types)
		return SIZE_MAX;
	known->types = types;
	types[known->n_types++] = *type;
	return i;
}

void known_add(struct known *known, uint64_t inode, const struct vgpu_type *type)
{
	struct type_row row = { .inode = inode };

	pthread_mutex_lock(&known->lock);
	if (known->of_types.n == ROWS_MAX)
		known->of_types.n = known->n_types = 0;
	row.type = intern(known, type);
	if (row.type < SIZE_MAX)
		add(&known->of_types, sizeof(row), &row);
	pthread_mutex_unlock(&known->lock);
}

bool known_ids(struct known *known, uint64_t inode, struct pci_ids *ret)
{
	const struct ids_row *row;

	pthread_mutex_lock(&known->lock);
	row = find(&known->ids, sizeof(*row), inode);
	if (row)
		*ret = row->ids;
	pthread_mutex_unlock(&known->lock);
	return row;
}

void known_add_ids(struct known *known, uint64_t inode, const struct pci_ids *ids)
{
	const struct ids_row row = { inode, *ids };

	pthread_mutex_lock(&known->lock);
	if (known->ids.n == ROWS_MAX)
		known->ids.n = 0;
	add(&known->ids, sizeof(row), &row);
	pthread_mutex_unlock(&known->lock);
}

void known_free(struct known *known)
{
	if (!known)
		return;
	free(known->ids.v);
	free(known->of_types.v);
	free(known->types);
	pthread_mutex_destroy(&known->lock);
	free(known);
}
