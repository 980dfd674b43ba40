/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The entries of directories that change: sets of { key, slot }, sorted by key, one for each
 * directory. A key is also the entry's place for telldir. Not locked: callers hold the tree's lock.
 */
#ifndef FS_SETS_H
#define FS_SETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sets;

struct elem {
	uint32_t key, slot;
};

struct sets *sets_new(void);
void sets_free(struct sets *s);

/* 1 added (what had the key is replaced), 0 was there, -ENOMEM. */
int set_add(struct sets *s, uint64_t id, struct elem elem);
/* True when it was there. */
bool set_remove(struct sets *s, uint64_t id, uint32_t key);
/* The elements from key on; NULL with *ret_n = 0 at the end. Good until the next change. */
const struct elem *set_from(const struct sets *s, uint64_t id, uint32_t key, size_t *ret_n);
size_t set_count(const struct sets *s, uint64_t id);

#endif
