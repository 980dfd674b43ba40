/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Those who wait for the verdict of a write: the signals that they get meanwhile, and the twins of
 * the files that they write.
 *
 * A write is withdrawn for a signal that ends or stops its writer, not for one that the writer
 * catches and lives on. The kernel tells of a signal once for each request and does not say which
 * one came. So who got one is looked at then, and ten times a second as long as the write waits.
 *
 * The kernel holds an inode's lock for the duration of a write. Truncating, appending, chmod,
 * utimes and seeking to the end wait for that lock and ignore signals. So a file has as many nodes
 * as writes in flight, and one more: twins, each an inode of its own with the inode number of the
 * first. A lookup leads to one that nobody is writing to.
 *
 * Thread-safe; the looks are made on a thread of their own.
 */
#ifndef FS_WRITERS_H
#define FS_WRITERS_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct fuse_req;
struct tree;
struct writers;

/* withdraw is called at most once for a write, without locks; the write may have its verdict by
 * then. */
int writers_new(struct tree *t, void (*withdraw)(struct tree *t, uint64_t tag),
		struct writers **ret, struct err *err);
/* Nobody is looked at any more. */
void writers_stop(struct writers *w);
void writers_free(struct writers *w);

/* The sender of this request waits for the verdict of a write with this slot of the journal; call it
 * before anybody can tell that. tag: not 0. */
void writers_begin(struct writers *w, struct fuse_req *req, uint32_t slot, uint64_t tag);
/* Its verdict is known. Call it before the slot is free. */
void writers_end(struct writers *w, uint32_t slot);
/* Was this write withdrawn? Ask it after the step behind which withdraw() finds the write. */
bool writers_withdrew(struct writers *w, uint32_t slot, uint64_t tag);

/* Another thread writes to this node, until writers_end(). True: it is the node's only write, so
 * paths may still lead there. */
bool writers_leave(struct writers *w, uint32_t slot, uint64_t node);
/* The number of the file's first twin without a write in flight; 0 if all have one. */
unsigned int writers_free_twin(struct writers *w, uint64_t ino);

#endif
