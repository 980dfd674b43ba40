/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Locks that nobody else can take. flock() needs only an open file, so anybody who may read a
 * directory or file can lock it. These lock a file that only its own user can open. */
#ifndef PCIDEVFS_LOCKFILE_H
#define PCIDEVFS_LOCKFILE_H

#include <stdbool.h>

struct err;

/* Makes the file `name` (0600) in the directory and locks it without waiting. Returns the
 * descriptor; the caller closes it to end the lock. -EWOULDBLOCK: another process has it; -EPERM:
 * others could open the file of that name; else the kernel's errno. The sentence names the file. */
int lockfile_take(int dirfd, const char *name, struct err *err);
/* Likewise, but waits so long for a process that may just be dying. */
int lockfile_await(int dirfd, const char *name, unsigned int ms, struct err *err);

/* Does the name still lead to the locked file? If not, another process may hold the lock too. */
bool lockfile_holds(int fd, int dirfd, const char *name);

#endif
