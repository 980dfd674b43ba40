/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The log and last_error. Thread-safe. */
#ifndef FS_RECORD_H
#define FS_RECORD_H

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

/* Records a verdict in the log and in last_error of the device, or (dev NULL) of the root. since:
 * if a former process may have logged it already, the offset of the log when it began, plus 1; else
 * 0. */
void record_verdict(struct tree *t, const struct key *dev, const char *file, struct written value,
		    const struct actor *who, const struct err *err, uint64_t since);
/* Likewise, but last_error stays: the cause is already there. */
void record_late(struct tree *t, const struct key *dev, const char *file, struct written value,
		 const struct actor *who, const struct err *err);
/* For chmod and chown. Success keeps last_error: vim calls chmod by itself after a refused
 * write. */
void record_owner(struct tree *t, const struct key *dev, const char *file, const char *value,
		  const struct actor *who, const struct err *err);
/* For a command of ctl. */
void record_command(struct tree *t, const struct key *dev, struct written line,
		    const struct actor *who, const struct err *err, uint64_t since);
/* For an open for writing that is refused, of a file of n's object. Called by the FUSE thread. */
void record_refused_open(struct tree *t, struct fuse_req *req, const struct node *n,
			 const char *name, const struct err *err);
void record_root_error(struct tree *t, char buf[static LAST_ERROR]);
/* Number of verdicts so far; code 0: ok. */
uint64_t record_count(struct tree *t, int code);

#endif
