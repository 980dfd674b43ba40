/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel is told to forget, and by whom.
 *
 * Attributes alone wait for nobody. Pages wait for whoever reads them, so only the notifier drops
 * them, and only those of rows that the kernel caches (ATTR_CONST): a file that is direct_io has
 * pages only where it is mapped, and these the kernel drops itself when it is opened or mapped
 * again. Entries go all at once by an epoch (Linux 6.16), which waits for nobody: a single entry
 * would wait for the directory's lock, which a reader holds as long as his buffer does not come.
 * What a directory lists is forgotten by its mtime.
 */
#ifndef FS_FORGET_H
#define FS_FORGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attr.h"

struct tree;

enum forget_what { FORGET_ATTR, FORGET_PAGES, FORGET_ENTRY };

struct forget {
	uint64_t ino;
	enum forget_what what;
	char name[OBJECT_NAME]; /* of an entry of that directory */
};

struct forgets {
	struct forget *v;
	size_t n, cap;
};

/* notes may be NULL: nobody has asked for anything yet. */
void forget_note(struct forgets *notes, uint64_t ino, enum forget_what what);
void forget_entry(struct forgets *notes, uint64_t ino, const char *name);
/* The same for one that is known not to be among them. */
void forget_new(struct forgets *notes, uint64_t ino, enum forget_what what, const char *name);
/* What this directory lists has changed: called after that, with the tree's lock held. */
void forget_list(struct tree *t, struct forgets *notes, uint64_t ino);

/* What stat says of this file, by whichever twin: waits for nobody, so any thread may. */
void forget_attr(struct tree *t, uint64_t ino);
/* Likewise the name that leads to a file which is written from now on, so that a twin is found by
 * it. On a kernel without epochs it is forgotten a little later, or, where somebody keeps that
 * waiting, when he lets go. A writer in a loop cannot cost others all that they have cached: a
 * second one within EPOCH_MS is forgotten at its end. */
void forget_path(struct tree *t, uint64_t dir, const char *name);
/* Names may be forgotten later than that returned: this kernel has no epochs. */
bool forget_lags(struct tree *t);
/* Until they are, or 10 ms have passed. Not on the FUSE thread. */
void forget_await(struct tree *t);
/* By the notifier, without a lock. Entries may be forgotten later than this returns, on a kernel
 * without epochs, where somebody keeps it waiting. */
void forget_all(struct tree *t, struct forgets *notes);
/* False: the kernel has no epochs. */
bool forget_entries(struct tree *t);
/* Before the session goes. */
void forget_stop(struct tree *t);

#endif
