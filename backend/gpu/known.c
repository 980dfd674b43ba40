// SPDX-License-Identifier: GPL-2.0-or-later
#include "known.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "pcidevfs/util.h"
#include "types.h"

#define ROWS_MAX 16384 /* more than any machine has at once: most are of functions that are gone */

struct known_row {
	uint64_t inode;
	size_t type;
};

struct ids_row {
	uint64_t inode;
	struct pci_ids ids;
};

struct known_types {
	pthread_mutex_t lock;
	struct ids_row *ids; /* lock; by inode */
	size_t n_ids, cap_ids; /* lock */
	struct known_row *rows; /* lock; by inode */
	size_t n, cap;		/* lock */
	struct vgpu_type *types; /* lock; each once, however many functions have it */
	size_t n_types, cap_types; /* lock */
};

struct known_types *known_new(void)
{
	struct known_types *known = calloc(1, sizeof(*known));

	if (known)
		pthread_mutex_init(&known->lock, NULL);
	return known;
}

/* All rows begin with their inode. */
static int to_inode(const void *row, const void *inode)
{
	uint64_t has = *(const uint64_t *)row, wanted = *(const uint64_t *)inode;

	return (has > wanted) - (has < wanted);
}

/* Call it with the lock held. */
static size_t place(const struct known_types *known, uint64_t inode)
{
	return rows_first(known->rows, known->n, sizeof(*known->rows), &inode, to_inode);
}

bool known_find(struct known_types *known, uint64_t inode, struct vgpu_type *type)
{
	const struct vgpu_type *found;
	bool is;
	size_t at;

	pthread_mutex_lock(&known->lock);
	at = place(known, inode);
	found = at < known->n && known->rows[at].inode == inode
			? &known->types[known->rows[at].type]
			: NULL;
	is = found && !strcmp(found->id, type->id);
	if (is)
		*type = *found;
	pthread_mutex_unlock(&known->lock);
	return is;
}

static bool is_same(const struct vgpu_type *a, const struct vgpu_type *b)
{
	return !strcmp(a->id, b->id) && !strcmp(a->name, b->name) && a->max == b->max &&
	       a->framebuffer_mib == b->framebuffer_mib;
}

/* Returns its index; SIZE_MAX: no memory. Call it with the lock held. */
static size_t intern(struct known_types *known, const struct vgpu_type *type)
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

void known_add(struct known_types *known, uint64_t inode, const struct vgpu_type *type)
{
	struct known_row *rows;
	size_t i, at;

	pthread_mutex_lock(&known->lock);
	if (known->n == ROWS_MAX)
		known->n = known->n_types = 0;
	i = intern(known, type);
	rows = i < SIZE_MAX ? more_rows(known->rows, known->n, &known->cap, sizeof(*rows)) : NULL;
	if (rows) {
		known->rows = rows;
		at = place(known, inode);
		memmove(rows + at + 1, rows + at, (known->n++ - at) * sizeof(*rows));
		rows[at] = (struct known_row){ inode, i };
	}
	pthread_mutex_unlock(&known->lock);
}

bool known_ids(struct known_types *known, uint64_t inode, struct pci_ids *ret)
{
	bool is;
	size_t at;

	pthread_mutex_lock(&known->lock);
	at = rows_first(known->ids, known->n_ids, sizeof(*known->ids), &inode, to_inode);
	is = at < known->n_ids && known->ids[at].inode == inode;
	if (is)
		*ret = known->ids[at].ids;
	pthread_mutex_unlock(&known->lock);
	return is;
}

void known_add_ids(struct known_types *known, uint64_t inode, const struct pci_ids *ids)
{
	struct ids_row *rows;
	size_t at;

	pthread_mutex_lock(&known->lock);
	if (known->n_ids == ROWS_MAX)
		known->n_ids = 0;
	rows = more_rows(known->ids, known->n_ids, &known->cap_ids, sizeof(*rows));
	if (rows) {
		known->ids = rows;
		at = rows_first(rows, known->n_ids, sizeof(*rows), &inode, to_inode);
		memmove(rows + at + 1, rows + at, (known->n_ids++ - at) * sizeof(*rows));
		rows[at] = (struct ids_row){ inode, *ids };
	}
	pthread_mutex_unlock(&known->lock);
}

void known_free(struct known_types *known)
{
	if (!known)
		return;
	free(known->ids);
	free(known->rows);
	free(known->types);
	pthread_mutex_destroy(&known->lock);
	free(known);
}
