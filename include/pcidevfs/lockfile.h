/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Locks that nobody else can take. flock() needs no more than an open file, so that a directory, or
 * any file that others may read, can be locked by all of them; here it is a file that its user
 * alone can open.
 */
#ifndef PCIDEVFS_LOCKFILE_H
#define PCIDEVFS_LOCKFILE_H

#include <stdbool.h>

struct err;

/*
 * Makes the file name (0600) in the directory, and locks it without waiting. Returns the
 * descriptor, which the caller closes to end the lock. -EWOULDBLOCK: another process has it;
 * -EPERM: what has that name could be opened by others; else as the kernel said. The sentence names
 * the file.
 */
int lockfile_take(int dirfd, const char *name, struct err *err);

/* Does the name still lead to the file that is locked? Where it does not, another process may have
 * it as well. */
bool lockfile_holds(int fd, int dirfd, const char *name);

#endif
