/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who may write which file: by owner, group and mode, for files other than the opened one. */
#ifndef FS_RIGHTS_H
#define FS_RIGHTS_H

#include <stddef.h>
#include <sys/types.h>
#include <stdbool.h>

#include "pcidevfs/key.h"

struct attr;
struct creds;
struct device;
struct err;
struct fuse_req;
struct subject;
struct tree;
struct request;

/* Who sent this request. looks: with supplementary groups and capabilities, which takes some
 * microseconds and a read of /proc; else without. Capabilities are those of the thread that waits
 * for the answer, so its pid is not reused; they count only in the daemon's own user namespace,
 * found by uid_map. A sender that cannot be seen, for example outside of our pid namespace, has
 * none; nobody has any if /proc is of another pid namespace. */
void rights_creds(struct fuse_req *req, bool looks, struct creds *ret);
/* Call it once, before the first request. */
void rights_start(struct tree *t);

/* May `who` write this row of dev and, if a write binds the IOMMU group (ATTR_GROUP), that of every
 * member? Returns 0, or -EACCES with the sentence. */
int rights_check(struct tree *t, const struct creds *who, const struct device *dev,
		 const struct attr *row, struct err *err);
/* Likewise for the child that the request is about, which does not exist: owner and mode are those
 * stored for it (about NULL: none), or the initial ones. Its IOMMU group is unknown, so
 * rights_may() checks again. */
int rights_check_unborn(struct tree *t, const struct creds *who, const struct request *about,
			const struct attr *row, struct err *err);
/* The verdict of the row's reaches() on an accepted value, for users who are not trusted with all
 * passthrough of the node. */
int rights_check_value(const struct subject *s, const struct creds *who, const struct attr *row,
		       const struct request *request, struct err *err);
/* engine_conf.may: the full check for a device that exists by now, with its group. */
int rights_may(struct tree *t, const struct request *request, const struct creds *who,
	       struct err *err);
/* Checks only the other members of the group: the kernel has checked the opened file. */
int rights_check_group(struct tree *t, const struct creds *who, const struct device *dev,
		       const struct attr *row, struct err *err);

/* Reads the beginning of a file of a process or thread in /proc: at most size - 1 bytes, then NUL.
 * Returns the length, 0 if it cannot be read. */
size_t proc_text(pid_t pid, const char *file, char *text, size_t size);

#endif
