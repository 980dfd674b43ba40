/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Open files, in memory that outlives us: what a file handle of a former process means, who waits
 * by poll, where the reader of a stream stands.
 *
 * poll is as in sysfs: a file that was not read since its last change, or never, has POLLPRI and
 * POLLERR. The kernel's name of a poll (kh) belongs to its open file, so it lies here too and the
 * next process wakes it by a notification of its own making. Thread-safe.
 *
 * One user without a reserve cannot have them all, nor all the memory, nor can all such users:
 * beyond his share he is refused, with a sentence, and others go on.
 */
#ifndef FS_FILES_H
#define FS_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "pcidevfs/creds.h"
#include "shares.h"

struct err;
struct files;
struct region_head;
struct text;

extern const struct region_head files_layout;

/* Where a stream's reader stands. */
struct cursor {
	uint64_t pos;		  /* in the ring */
	uint32_t special, off;	  /* a line of its own comes first, up to off it is read */
	uint64_t seq, generation; /* of that line */
};

/* As it lies in the stash. Only read() of its own file touches the fields below `armed`. */
struct open_file {
	uint64_t fh; /* 0: free; written last */
	uint64_t node;
	uint64_t opened_by; /* the OPEN request, so that one sent again finds its file */
	uint64_t kh;
	uint8_t changed; /* since it was read; of a cached file: how many polls will say so */
	uint8_t armed;	 /* the kernel waits for a notification */
	uint8_t writes;	 /* opened for writing; does not change */
	uint64_t len;	 /* of the text at the last read from offset 0 */
	/* The last read of a stream, and where it began: for when it is sent again. */
	uint64_t read_by;
	struct cursor at, before;
	struct creds creds; /* does not change */
};

/* A later process (first 0) finds all files changed. */
int files_new(void *region, size_t size, int first, struct files **ret, struct err *err);
void files_free(struct files *f);
void files_use(struct files *f, int fuse_fd); /* where notifications are written */

/* unique: of the OPEN request, with its UNIQUE_RESENT bit. at: for a stream, else NULL. writes:
 * opened for that. *ret_fh is never 0. -EMFILE: this user has too many open; -ENFILE: all have. */
int files_open(struct files *f, uint64_t node, uint64_t unique, const struct creds *creds,
	       const struct cursor *at, bool writes, uint64_t *ret_fh, struct err *err);
/* Has somebody this node open for writing? */
bool files_written(struct files *f, uint64_t node);
void files_release(struct files *f, uint64_t fh);
/* NULL when it is none of ours. Good until its release. */
struct open_file *files_get(struct files *f, uint64_t fh);

/* Who opened it turns out to have a reserve: it is no longer in anybody's share. */
void files_reserve(struct files *f, struct open_file *file);

/* Refused before, and since then always had something open? Else it is worth telling. */
bool files_told(struct files *f, uid_t uid);

/* Notes how long the text is that was read from offset 0, and keeps it when one read could not take
 * all of it; else text is NULL. -ENOMEM: its user's files keep too much, or (without a sentence)
 * nobody has memory; what was kept is gone. Files of one user that keep the same text count
 * once. */
int files_keep(struct files *f, struct open_file *file, struct text *text, size_t len,
	       struct err *err);
/* What is kept, for text_unref(); NULL: no text is. *ret_len: how long the whole is, 0 when nothing
 * was read yet. */
struct text *files_kept(struct files *f, const struct open_file *file, uint64_t *ret_len);

void files_seen(struct files *f, struct open_file *file); /* before its text is made */
/* Changed? kh 0: only asks; else wakes later. cached: reads may come from the page cache, where
 * nobody hears of them; then being told counts for having read. */
bool files_poll(struct files *f, struct open_file *file, uint64_t kh, bool cached);
/* Whoever asks sees it changed from now on; who waits is woken by the next files_tell(). */
void files_touch(struct files *f, uint64_t node);
void files_tell(struct files *f);
void files_wake_all(struct files *f);

#endif
