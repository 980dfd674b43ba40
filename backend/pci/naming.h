/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names of many functions at once: each pair of ids is looked up once, in the model first and
 * in pci.ids only for what the model does not know. Without the model's lock but where it is said.
 */
#ifndef PCIDEVFS_NAMING_H
#define PCIDEVFS_NAMING_H

#include <stddef.h>

struct backend;
struct facts;
struct key;
struct names;
struct names_db;

struct naming {
	struct named *v;
	size_t n, cap;
	struct names_db *db; /* NULL where it was not asked */
};

/* Zeroed before the first. No memory: the function keeps the names that it has. */
void naming_add(struct naming *nm, const struct key *dev, const struct facts *f);

/* Once, behind the last. Notes in b whether pci.ids is missing. */
void naming_look(struct backend *b, struct naming *nm);

/* NULL when they are not known. With the model's lock or without. */
const struct names *naming_find(const struct naming *nm, const struct key *dev,
				const struct facts *f);

void naming_end(struct naming *nm);

#endif
