/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How `pcidevfsd --replace` meets the holder of a mount: a socket named after the mount's device
 * number, so that any path or bind mount finds the same holder, in a directory that only root
 * enters.
 *
 * Whoever gets through has a program of his own executed with all that the holder may. So being
 * root is not enough, since root of a container may reach the directory too: the caller must share
 * our mount, pid and user namespaces and have every capability that we have.
 */
#ifndef FS_CONTROL_H
#define FS_CONTROL_H

#include <stdbool.h>
#include <sys/types.h>

struct err;
struct mount_entry;
struct options;

#define CONTROL_DIR "/run/pcidevfsd"

/* The directory, for lookups only; make: made if it is not there. Where others could enter it:
 * -EPERM with a sentence. */
int control_dir(bool make, struct err *err);
/* Listening, close-on-exec, non-blocking; or -errno with a sentence. */
int control_listen(const struct mount_entry *mount, struct err *err);
/* After the mount has ended. */
void control_forget(const struct mount_entry *mount);
/* The next caller; -EPERM with a sentence, which the caller was told, for one without the right;
 * another -errno when there is none. */
int control_accept(int listen_fd, struct err *err);
/* Connected to the holder, ret_pid its process; waits at most a minute for anything. -errno with a
 * sentence. */
int control_connect(const struct mount_entry *mount, pid_t *ret_pid, struct err *err);

/* `pcidevfsd --replace MOUNTPOINT`: prints what happens; returns the exit status. */
int replace_run(const struct options *o);

#endif
