/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which nodes have a write in job, and the twins of their files that lookups lead to meanwhile.
 *
 * The kernel holds the lock of an inode for as long as a write to it takes, and truncating,
 * appending, chmod, utimes and seeking to the end want that lock alone, without an ear for signals.
 * Therefore a file has as many nodes as it has writes in job, and one more: twins, each an inode of
 * its own with the inode number of the first. A path that is looked up leads to one that nobody is
 * writing to. Thread-safe.
 */
#ifndef FS_TWINS_H
#define FS_TWINS_H

#include <stdbool.h>
#include <stdint.h>

struct twins;

int twins_new(struct twins **ret); /* -ENOMEM */
void twins_free(struct twins *w);

/* A write to this node goes on on another thread, under this slot of the journal. True: it is the
 * node's only one, so paths may still lead there. */
bool twins_begin(struct twins *w, uint64_t node, uint32_t slot);
/* Nothing where it did not begin. */
void twins_end(struct twins *w, uint32_t slot);
/* The number of the first twin of this file that has no write in job; 0 where all have one. */
unsigned int twins_free_number(struct twins *w, uint64_t ino);

#endif
