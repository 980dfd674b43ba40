/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Open files, in memory that outlives the process: the file handles of former processes, pollers,
 * positions in streams.
 *
 * poll works as in sysfs: a file that was never read, or not since its last change, has POLLPRI and
 * POLLERR. The kernel's id of a poll (kh) belongs to its open file, so it is stored here and a
 * later process can wake it with its own notification. Thread-safe.
 *
 * Neither one user without a reserve nor all such users together can use up the files or the
 * memory: beyond the share the user gets an error with a sentence, and others are not affected.
 */
#ifndef FS_FILES_H
#define FS_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "pcidevfs/creds.h"

struct err;
struct files;
struct region_head;
struct text;

extern const struct region_head files_layout;

#define FILES_OF_USER 16384
#define TEXT_OF_USER ((size_t)16 << 20) /* or one text */
#define FILES_OF_ALL (2 * FILES_OF_USER)
#define TEXT_OF_ALL (2 * TEXT_OF_USER)

/* The position of a stream's reader. */
struct cursor {
	uint64_t pos; /* in the ring */
	/* a line that is not in the ring comes first; off: how much of it was read */
	uint32_t special, off;
	uint64_t seq, generation; /* in that line */
};

/* As in the stash. Only read() of its own file uses the fields below `armed`. */
struct open_file {
	uint64_t fh; /* 0: free; written last */
	uint64_t node;
	uint64_t opened_by; /* the OPEN request, by which a resent one finds its file */
	uint64_t kh;
	uint8_t changed; /* since it was read; of a cached file: how many more polls report it */
	uint8_t armed;	 /* the kernel waits for a notification */
	uint8_t writes;	 /* opened for writing; constant */
	uint64_t len;	 /* of the text at the last read from offset 0 */
	/* The last read of a stream, and where it began, in case it is sent again. */
	uint64_t read_by;
	struct cursor at, before;
	struct creds creds; /* constant */
};

/* A later process (first 0) marks all files as changed. */
int files_new(void *region, size_t size, int first, struct files **ret, struct err *err);
void files_free(struct files *f);
void files_use(struct files *f, int fuse_fd); /* the descriptor for notifications */

/* unique: of the OPEN request, with its UNIQUE_RESENT bit. at: the start of a stream, else NULL.
 * writes: opened for writing. *ret_fh is never 0. -EMFILE: the user has too many; -ENFILE: all
 * have. */
int files_open(struct files *f, uint64_t node, uint64_t unique, const struct creds *creds,
	       const struct cursor *at, bool writes, uint64_t *ret_fh, struct err *err);
/* Does somebody have this node open, or open for writing? */
bool files_in_use(struct files *f, uint64_t node, bool for_writing);
void files_release(struct files *f, uint64_t fh);
/* NULL if the handle is unknown. Valid until its release. */
struct open_file *files_get(struct files *f, uint64_t fh);

/* Was the user refused before, and had files open ever since? If not, it is worth a log line. */
bool files_told(struct files *f, uid_t uid);

/* Stores the length of the text that was read from offset 0. Keeps the text if one read could not
 * take all of it; else text is NULL. Drops what was kept before. -ENOMEM: the user's files keep too
 * much, or (without a sentence) no memory. A text kept by several files of a user counts once. */
int files_keep(struct files *f, struct open_file *file, struct text *text, size_t len,
	       struct err *err);
/* The kept text, to be released by text_unref(); NULL if none. *ret_len: its whole length, 0 if
 * nothing was read yet. */
struct text *files_kept(struct files *f, const struct open_file *file, uint64_t *ret_len);

void files_seen(struct files *f, struct open_file *file); /* call it before the text is made */
/* Has the file changed? kh not 0: wake this poll later. cached: reads may come from the page cache,
 * unseen by us; then a report counts as a read. */
bool files_poll(struct files *f, struct open_file *file, uint64_t kh, bool cached);
/* Marks the node's files as changed; the next files_tell() wakes their pollers. */
void files_touch(struct files *f, uint64_t node);
void files_tell(struct files *f);
void files_wake_all(struct files *f);

#endif
