/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory that outlives the daemon but not the node: a memfd that the holder keeps.
 *
 * It is sparse: each region has a fixed place and a generous size, pages exist once touched. A
 * region starts with its owner's magic and version; an owner that does not know what it finds makes
 * it new. Everything in it may be torn by SIGKILL at any instruction, so owners write beside and
 * swap.
 */
#ifndef FS_STASH_H
#define FS_STASH_H

#include <stddef.h>

struct err;
struct region_head;
struct stash;

#define STASH_ABI 4
extern const struct region_head stash_layout;

enum stash_region {
	STASH_SESSION, /* stored INIT, generations, counters: session.c */
	STASH_MODEL,   /* model.h's arena */
	STASH_OBJECTS, /* node ids: objects.c */
	STASH_CTL,     /* what open ctl files have gathered: ctl_store.c */
	STASH_EVENTS,  /* ring of event lines: ring.c */
	STASH_LOG,     /* ring of log lines: ring.c */
	STASH_FILES,   /* open files, who polls them, positions of streams: files.c */
	STASH_JOURNAL, /* write requests in job and their verdicts */
	STASH_TXN,     /* the engine's journal: what runs, step by step */
	STASH_COUNT
};

/* The holder makes it (close-on-exec); *ret_fd is the caller's. */
int stash_create(int *ret_fd, struct err *err);
/* size bytes of a region, at this place in it, without mapping it: 0 or -errno. */
int stash_peek(int fd, enum stash_region region, size_t at, void *ret, size_t size);
/* Makes the region as it was in the beginning. Nobody uses it. 0 or -errno. */
int stash_clear(int fd, enum stash_region region);
/* Maps it; -EPROTO when its ABI is another. The fd stays the caller's. */
int stash_attach(int fd, struct stash **ret, struct err *err);
void stash_detach(struct stash *s);
void *stash_region(struct stash *s, enum stash_region region, size_t *ret_size);

#endif
