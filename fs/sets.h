/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The entries of changing directories: a set of { key, slot }, sorted by key, for each directory. A
 * key is also the entry's place for telldir. Not locked: callers hold the tree's lock. */
#ifndef FS_SETS_H
#define FS_SETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sets;

struct elem {
	uint32_t key, slot;
};

/* The set of a row of the object in this slot (ROW_SELF: of its own directory). */
static inline uint64_t set_id(uint32_t slot, uint16_t row)
{
	return (uint64_t)slot << 16 | row;
}

static inline uint32_t set_slot(uint64_t id)
{
	return (uint32_t)(id >> 16);
}

struct sets *sets_new(void);
void sets_free(struct sets *s);

/* Returns 1: added (or replaced the entry of that key), 0: it was there, -ENOMEM. */
int set_add(struct sets *s, uint64_t id, struct elem elem);
/* Returns true if it was there. */
bool set_remove(struct sets *s, uint64_t id, uint32_t key);
/* The elements from key on; NULL with *ret_n = 0 at the end. Valid until the next change. */
const struct elem *set_from(const struct sets *s, uint64_t id, uint32_t key, size_t *ret_n);
size_t set_count(const struct sets *s, uint64_t id);

#endif
