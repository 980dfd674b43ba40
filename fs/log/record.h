/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The log and last_error. Thread-safe. */
#ifndef FS_RECORD_H
#define FS_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pcidevfs/device.h"

struct actor;
struct err;
struct fuse_req;
struct key;
struct node;
struct region_head;
struct tree;

#define RECORD_CODES 134 /* greater than any errno */

/* In one region, one behind the other. */
extern const struct region_head record_layout, log_layout;
int record_open(struct tree *t, void *region, size_t size, struct err *err);
/* What somebody wrote, byte for byte. The log shows its beginning, escaped, without its newline. */
struct written {
	const char *data; /* NULL: empty or unknown, "?" in the log */
	size_t size;
};
struct written written_text(const char *text);

/* What a verdict is about. */
struct verdict_of {
	const struct key *dev; /* NULL: the root */
	const char *file;
	struct written value;
	/* Nothing that clears last_error when it succeeds: chmod and chown, which vim does by itself
	 * after a refused write. */
	bool aside;
	bool late;   /* last_error stays: the cause is already there */
	bool forced; /* overrode host_critical */
	/* If a former process may have told of it: where the log ended before that, and 1. */
	uint64_t since;
};

/* Records a verdict in the log and in last_error. */
void record_verdict(struct tree *t, const struct verdict_of *a, const struct actor *who,
		    const struct err *err);
/* model_wrote(): for a write that somebody begins, or that has its verdict. */
void tree_wrote(struct tree *t, const struct key *dev);
/* Waits until the journal can take the next change of this user: not at all for who has a reserve.
 * Call it after a change was recorded, on a thread that such users have for themselves. */
void record_pace(struct tree *t, const struct actor *who);
/* For an open for writing that is refused, of a file of n's object. Called by the FUSE thread. */
void record_refused_open(struct tree *t, struct fuse_req *req, const struct node *n,
			 const char *name, const struct err *err);
uid_t record_root_error(struct tree *t, char buf[static LAST_ERROR]); /* who was refused */
/* Number of verdicts so far; code 0: ok. */
uint64_t record_count(struct tree *t, int code);

#endif
