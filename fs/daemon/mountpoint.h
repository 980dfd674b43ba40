/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The place of the mount, examined without ever entering a mount that may be dead. */
#ifndef FS_MOUNTPOINT_H
#define FS_MOUNTPOINT_H

#include <stdbool.h>
#include <stddef.h>

struct err;

#define MOUNT_TYPE "fuse.pcidevfs"

struct mount_entry {
	unsigned int major, minor; /* the st_dev of all its files */
	bool ours;		   /* MOUNT_TYPE */
};

/* The absolute path of arg; the caller frees it. Asks nothing of a file system mounted there. */
int mountpoint_resolve(const char *arg, char **ret_path, struct err *err);
/* Finds the mount on top of path in mountinfo; -ENOENT if there is none. */
int mountpoint_find(const char *path, struct mount_entry *ret);
/* Finds the path of a mount of ours. False: there is none. */
bool mountpoint_any(char *ret, size_t size);
/* Like mountpoint_find(), in such a text, which is overwritten. */
int mountpoint_in(char *mountinfo, const char *path, struct mount_entry *ret);
/* Prepares path for a mount: creates its last component, detaches mounts of ours whose daemon is
 * dead. Refuses a path that is not a directory, and a live daemon's mount. */
int mountpoint_prepare(const char *path, struct err *err);
/* Opens /dev/fuse, or says why not. */
int mountpoint_open_fuse(int *ret_fd, struct err *err);
int mountpoint_attach(const char *path, int fuse_fd, struct mount_entry *ret, struct err *err);
/* Mounts with a new connection, once the former mount is gone: closes *fuse_fd, opens it anew. */
int mountpoint_anew(const char *path, int *fuse_fd, struct mount_entry *ret, struct err *err);
/* Detaches lazily, and only if the top mount is still that one: else -EBUSY, with a message. abort:
 * waiting callers get an error at once, although the connection is open elsewhere. */
int mountpoint_detach(const char *path, const struct mount_entry *mine, bool abort);

#endif
