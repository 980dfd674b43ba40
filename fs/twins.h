/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Nodes with a write in flight, and the twins that lookups of their files lead to meanwhile.
 *
 * The kernel holds an inode's lock for the duration of a write. Truncating, appending, chmod,
 * utimes and seeking to the end wait for that lock and ignore signals. So a file has as many nodes
 * as writes in flight, and one more: twins, each an inode of its own with the inode number of the
 * first. A lookup leads to one that nobody is writing to. Thread-safe.
 */
#ifndef FS_TWINS_H
#define FS_TWINS_H

#include <stdbool.h>
#include <stdint.h>

struct twins;

int twins_new(struct twins **ret); /* 0 or -ENOMEM */
void twins_free(struct twins *w);

/* Another thread writes to this node, under this slot of the journal. True: it is the node's only
 * write, so paths may still lead there. */
bool twins_begin(struct twins *w, uint64_t node, uint32_t slot);
/* Does nothing if the write did not begin. */
void twins_end(struct twins *w, uint32_t slot);
/* The number of the file's first twin without a write in flight; 0 if all have one. */
unsigned int twins_free_number(struct twins *w, uint64_t ino);

#endif
