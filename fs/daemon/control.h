/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How `pcidevfsd --replace` finds the holder of a mount: by a socket named after the mount's device
 * number, so that any path or bind mount leads to the same holder, in a directory that only root
 * can enter.
 *
 * An accepted caller gets a program of its own executed with all rights of the holder. So being
 * root is not enough, because root of a container may reach the directory too: the caller must
 * share our mount, pid and user namespaces and have every capability that we have.
 */
#ifndef FS_CONTROL_H
#define FS_CONTROL_H

#include <stdbool.h>
#include <sys/types.h>

struct err;
struct mount_entry;
struct daemon_options;

#define CONTROL_DIR "/run/pcidevfsd"

/* Opens the directory, for lookups only; make: creates it if it is missing. -EPERM with a sentence
 * if others could enter it. */
int control_dir(bool make, struct err *err);
/* Returns a listening socket, close-on-exec and non-blocking; -1: there is none, and stderr says
 * why. */
int control_listen(const struct mount_entry *mount);
/* Closes and removes the socket. Call it before unmounting: later the number in the socket's name
 * may be another mount's. */
void control_forget(int *listen_fd, const struct mount_entry *mount);
/* Accepts the next caller. -EPERM with a sentence, which the caller was told too, if the caller
 * lacks rights; another -errno if there is none. */
int control_accept(int listen_fd, struct err *err);
/* Connects to the holder; *ret_pid is its process. Each operation on the socket waits at most a
 * minute. -errno with a sentence. */
int control_connect(const struct mount_entry *mount, pid_t *ret_pid, struct err *err);

/* `pcidevfsd --replace MOUNTPOINT`: prints what happens. Returns the exit status. */
int replace_run(const struct daemon_options *o);

#endif
