/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who may write which file: as the kernel decides by owner, group and mode, for files other than
 * the one that was opened. */
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
 * microseconds and a look into /proc; else there are none. Capabilities are those of the thread
 * that waits for the answer, so its number is not reused, and count only in the daemon's own user
 * namespace, told by uid_map. A sender that cannot be seen, as in a process namespace that is not
 * below ours, has none; nobody has any where /proc is of another process namespace. */
void rights_creds(struct fuse_req *req, bool looks, struct creds *ret);
/* Once, before the first request. */
void rights_start(struct tree *t);

/* May who write this row of dev and, where a write binds the IOMMU group (ATTR_GROUP), of every
 * member? 0 or -EACCES with the sentence. */
int rights_check(struct tree *t, const struct creds *who, const struct device *dev,
		 const struct attr *row, struct err *err);
/* The same for what is not there: owner and mode are those that are stored for whom the request is
 * about (NULL: nobody), else those that files are born with. Its IOMMU group is not known:
 * rights_may() asks again. */
int rights_check_unborn(struct tree *t, const struct creds *who, const struct request *about,
			const struct attr *row, struct err *err);
/* What the row's reaches() says of an accepted value, for who is not trusted with all passthrough
 * of the node. */
int rights_check_value(const struct subject *s, const struct creds *who, const struct attr *row,
		       const struct request *request, struct err *err);
/* engine_conf.may: the same for what has come since, with its group. */
int rights_may(struct tree *t, const struct request *request, const struct creds *who,
	       struct err *err);
/* Only the other members of the group: the kernel has checked the file that was opened. */
int rights_check_group(struct tree *t, const struct creds *who, const struct device *dev,
		       const struct attr *row, struct err *err);

/* The beginning of a file of a process, or thread, in /proc: at most size - 1 bytes, then NUL.
 * Returns how many, 0 when it cannot be read. */
size_t proc_text(pid_t pid, const char *file, char *text, size_t size);

#endif
