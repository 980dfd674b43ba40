/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who may write which file: as the kernel decides by owner, group and mode, for files other than the
 * one that was opened. */
#ifndef FS_RIGHTS_H
#define FS_RIGHTS_H

#include <stdbool.h>

struct attr;
struct creds;
struct device;
struct err;
struct fuse_req;
struct tree;

/* Who sent this request. looks: his supplementary groups and his capabilities too, which takes some microseconds
 * and a look into /proc; else he has none. Capabilities count in the user namespace of the daemon, told by its uid_map:
 * they are those of the thread that waits for the answer, so that its number is nobody else's. Of one that cannot be
 * seen, as in a process namespace that is not below ours, none count, nor where /proc is another process
 * namespace's. */
void rights_creds(struct fuse_req *req, bool looks, struct creds *ret);
/* Once, before the first request. */
void rights_start(struct tree *t);

/* May who write this row of dev and, where a write binds the IOMMU group (ATTR_GROUP), of every member?
 * 0 or -EACCES with the sentence. */
int rights_check(struct tree *t, const struct creds *who, const struct device *dev,
		 const struct attr *row, struct err *err);
/* The same for a device that is not there yet: owner and mode are those that files are born with. */
int rights_check_unborn(struct tree *t, const struct creds *who, const struct attr *row,
			struct err *err);
/* Only the other members of the group: the kernel has checked the file that was opened. */
int rights_check_group(struct tree *t, const struct creds *who, const struct device *dev,
		       const struct attr *row, struct err *err);

#endif
