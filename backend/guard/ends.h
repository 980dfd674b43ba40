/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ends of the processes that hold devices. Inotify tells of nodes below dev/vfio alone, and
 * only of what is closed there: a disk, a resource in sysfs, or a node by another name, is let go
 * of unheard.
 */
#ifndef PCIDEVFS_BACKEND_ENDS_H
#define PCIDEVFS_BACKEND_ENDS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct sysfs;

/* What more processes than these do is found by the slow look. */
#define ENDS_MAX 64

struct ends {
	pthread_mutex_t lock; /* the owner makes and ends it */
	int epoll; /* -1: nothing is heard, as where proc is not of our PID namespace */
	struct {
		pid_t pid;
		int fd;
	} v[ENDS_MAX]; /* lock */
	size_t n;
};

/* Before other threads begin, and behind them, as close; these may call the rest side by side. */
void ends_open(struct ends *e, const struct sysfs *s);
/* Those of the answer to a question about all devices (all), which no other one concerns any more;
 * else these besides. One that has ended meanwhile is told as well. */
void ends_watch(struct ends *e, const pid_t *pids, size_t n, bool all);
/* Whether one has ended since. */
bool ends_heard(struct ends *e);
void ends_close(struct ends *e);

#endif
