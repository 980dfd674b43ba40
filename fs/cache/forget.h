/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How to make the kernel forget, and who may do that.
 *
 * Attributes wait for nobody. Pages wait for their readers, so only the notifier drops them, and
 * only of rows that the kernel caches (ATTR_CONST): a direct_io file has pages only if it is
 * mapped, and the kernel drops these itself when the file is opened or mapped again. Entries are
 * all dropped at once by an epoch (Linux 6.16), which waits for nobody; dropping one would wait for
 * the directory's lock, which a reader holds until its buffer comes. Lists of directories are
 * dropped by their mtime.
 */
#ifndef FS_FORGET_H
#define FS_FORGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/attr.h"

struct err;
struct tree;

enum forget_what { FORGET_ATTR, FORGET_PAGES, FORGET_ENTRY };

struct forget {
	uint64_t ino;
	enum forget_what what;
	char name[OBJECT_NAME]; /* of an entry in that directory */
};

struct forgets {
	struct forget *v;
	size_t n, cap;
};

/* name: of an entry (FORGET_ENTRY), else "". notes NULL: nobody has asked for anything yet. */
void forget_note(struct forgets *notes, uint64_t ino, enum forget_what what, const char *name);
/* Call it after a change of the directory's entries, with the tree's lock held. */
void forget_list(struct tree *t, uint64_t ino);

/* Drops the attributes of a file and its twins. Waits for nobody; any thread may call it. */
void forget_attr(struct tree *t, uint64_t ino);
/* Drops the entry of a file that is written from now on, so that its path leads to a twin. On a
 * kernel without epochs this may end later, if a reader holds the directory. A writer in a loop
 * cannot flush everybody's caches: a second call within EPOCH_MS takes effect at its end. */
void forget_path(struct tree *t, uint64_t dir, const char *name);
/* May forget_path() take effect later, because the kernel has no epochs? */
bool forget_lags(struct tree *t);
/* Waits until it has, or 10 ms have passed. Not for the FUSE thread. */
void forget_await(struct tree *t);
/* Without a lock; any thread, if there are only attributes among them, else the notifier. On a kernel
 * without epochs entries may be dropped later, if a reader holds the directory. */
void forget_all(struct tree *t, struct forgets *notes);
/* Returns false if the kernel has no epochs. */
bool forget_entries(struct tree *t);
/* The threads for that; t has its descriptor of FUSE. */
int forget_start(struct tree *t, struct err *err);
/* Call it before the session is freed. */
void forget_stop(struct tree *t);

#endif
