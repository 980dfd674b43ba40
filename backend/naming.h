/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of many devices at once. Each pair of ids is looked up once, in the model first, and
 * in the bus's files (bus.h) only if the model does not have it. Call all without the model's lock
 * unless noted. */
#ifndef PCIDEVFS_NAMING_H
#define PCIDEVFS_NAMING_H

#include <stddef.h>

struct backend;
struct facts;
struct key;
struct names;

struct naming {
	struct named *v;
	size_t n, cap;
};

/* nm must be zeroed before the first call. Without memory the function keeps its names. */
void naming_add(struct naming *nm, const struct key *dev, const struct facts *f);

/* Call it once, after the last naming_add(). Notes in b for which bus they are missing. */
void naming_look(struct backend *b, struct naming *nm);

/* NULL if the names are unknown. The model may be locked. */
const struct names *naming_find(const struct naming *nm, const struct key *dev,
				const struct facts *f);

void naming_end(struct naming *nm);

#endif
