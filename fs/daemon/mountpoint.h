/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The place where the tree is mounted: looked at without ever entering a mount that may be dead. */
#ifndef FS_MOUNTPOINT_H
#define FS_MOUNTPOINT_H

#include <stdbool.h>
#include <stdio.h>

struct err;

#define MOUNT_TYPE "fuse.pcidevfs"

struct mount_entry {
	unsigned int major, minor; /* the st_dev of everything in it */
	bool ours;		   /* MOUNT_TYPE */
};

/* The absolute path of arg, allocated. Asks nothing of a file system mounted there. */
int mountpoint_resolve(const char *arg, char **ret_path, struct err *err);
/* What is mounted on top of path, from mountinfo; -ENOENT when nothing is. */
int mountpoint_find(const char *path, struct mount_entry *ret);
/* Where one of ours is; false: there is none. */
bool mountpoint_any(char *ret, size_t size);
/* The same of such a text. */
int mountpoint_in(FILE *mountinfo, const char *path, struct mount_entry *ret);
/* Makes path fit to be mounted on: creates its last component, detaches mounts of ours whose daemon
 * is dead. Refuses what is no directory, and a live daemon's mount. */
int mountpoint_prepare(const char *path, struct err *err);
/* /dev/fuse, or why not. */
int mountpoint_open_fuse(int *ret_fd, struct err *err);
int mountpoint_attach(const char *path, int fuse_fd, struct mount_entry *ret, struct err *err);
/* The same by another connection, once the former mount is gone: *fuse_fd is closed, and opened
 * anew. */
int mountpoint_anew(const char *path, int *fuse_fd, struct mount_entry *ret, struct err *err);
/* Lazily, and only if what is on top is still that mount: else -EBUSY, and it is said. abort: who
 * waits for an answer gets an error at once, though the connection is open elsewhere. */
int mountpoint_detach(const char *path, const struct mount_entry *mine, bool abort);

#endif
