/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that outlives the daemon, but not a reboot: a memfd that the holder keeps.
 *
 * It is sparse: each region has a fixed place and a generous size; pages exist once touched. A
 * region starts with its owner's magic and version; an owner that does not recognize them starts
 * anew. SIGKILL may tear anything at any instruction, so owners write beside and swap.
 */
#ifndef FS_STASH_H
#define FS_STASH_H

#include <stddef.h>

struct err;
struct region_head;
struct stash; /* what is mapped */

#define STASH_ABI 7
extern const struct region_head stash_layout;

enum stash_region {
	STASH_SESSION, /* stored INIT, generations, counters: session.c */
	STASH_MODEL,   /* model.h's arena */
	STASH_OBJECTS, /* node ids: objects.c */
	STASH_CTL,     /* what is left of open ctl files: ctl_file.c */
	STASH_EVENTS,  /* ring of event lines: ring.c */
	STASH_LOG,     /* ring of log lines: ring.c */
	STASH_FILES,   /* open files, their pollers, positions in streams: files.c */
	STASH_JOURNAL, /* write requests in job and their verdicts */
	STASH_INTENTS, /* a copy of the state file: model/intents/intent_copy.c */
	STASH_COUNT
};

/* Creates it, for the holder (close-on-exec). The caller owns *ret_fd. */
int stash_create(int *ret_fd, struct err *err);
/* Reads size bytes at a place in a region, without mapping it. Returns 0 or -errno. */
int stash_peek(int fd, enum stash_region region, size_t at, void *ret, size_t size);
/* Resets a region to its initial state. Nobody may be using it. Returns 0 or -errno. */
int stash_clear(int fd, enum stash_region region);
/* Maps it; -EPROTO if its ABI differs. The caller keeps fd. */
int stash_attach(int fd, struct stash **ret, struct err *err);
void stash_detach(struct stash *s);
void *stash_region(struct stash *s, enum stash_region region, size_t *ret_size);

#endif
