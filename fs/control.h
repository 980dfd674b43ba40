/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How `pcidevfsd --replace` meets the holder of a mount: an abstract socket named after the mount's
 * device number, so that any path or bind mount finds the same holder. Abstract names belong to a
 * network namespace, and anybody there may take one: each side asks the kernel who the other is.
 */
#ifndef FS_CONTROL_H
#define FS_CONTROL_H

#include <sys/types.h>

struct err;
struct mount_entry;
struct options;

/* Listening, close-on-exec, non-blocking; or -errno. */
int control_listen(const struct mount_entry *mount);
/* The next caller who is root; -EAGAIN when there is none, -EPERM for others. */
int control_accept(int listen_fd);
/* Connected to a holder that is root; ret_pid its process. -errno with a sentence. */
int control_connect(const struct mount_entry *mount, pid_t *ret_pid, struct err *err);

/* `pcidevfsd --replace MOUNTPOINT`: prints what happens; returns the exit status. */
int replace_run(const struct options *o);

#endif
