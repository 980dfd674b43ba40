/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ends of the processes that hold devices. Inotify reports only closes of nodes below dev/vfio.
 * It misses closes of a disk, of a resource file in sysfs, or of a node by another name. */
#ifndef PCIDEVFS_BACKEND_ENDS_H
#define PCIDEVFS_BACKEND_ENDS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct sysfs;

/* Further processes are left to the slow look. */
#define ENDS_MAX 64

struct ends {
	pthread_mutex_t lock; /* initialized and destroyed by the owner */
	int epoll; /* -1: nothing is heard, for example if proc is not of our PID namespace */
	struct {
		pid_t pid;
		int fd;
	} v[ENDS_MAX]; /* guarded by lock */
	size_t n;
};

/* Like ends_close(), call it while no other threads run; the rest is thread-safe. */
void ends_open(struct ends *e, const struct sysfs *s);
/* Watches the holders found by a question. all: it was about all devices, so other processes are no
 * longer watched. A process that has already ended is reported too. */
void ends_watch(struct ends *e, const pid_t *pids, size_t n, bool all);
/* Has a watched process ended since the last call? */
bool ends_heard(struct ends *e);
void ends_close(struct ends *e);

#endif
