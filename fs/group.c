// SPDX-License-Identifier: GPL-2.0-or-later
/* The group pcidevfs may come, or get another number, while the tree is mounted. */
#include <stdlib.h>

#include "internal.h"
#include "pcidevfs/group.h"

/* Call it with the tree's lock held. */
static void note_files(struct tree *t, uint32_t slot, struct forgets *notes)
{
	const struct attr *row;

	for (size_t i = 0; (row = row_at(objects_at(t->objects, slot)->kind, i)); i++) {
		uint64_t ino = objects_ino(t->objects, slot, row->id);

		if (row_is_groups(row) && objects_known(t->objects, ino))
			forget_new(notes, ino, FORGET_ATTR, "");
	}
}

void tree_set_group(struct tree *t, gid_t gid)
{
	uint32_t n = 1;

	if (atomic_exchange(&t->group, gid) == gid)
		return;
	/* One object at a time: requests need the lock. */
	for (uint32_t i = 0; i < n; i++) {
		struct forgets notes = { 0 };

		pthread_mutex_lock(&t->lock);
		n = objects_count(t->objects);
		if (i < n)
			note_files(t, i, &notes);
		pthread_mutex_unlock(&t->lock);
		forget_all(t, &notes);
	}
}
