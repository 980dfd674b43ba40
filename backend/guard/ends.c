// SPDX-License-Identifier: GPL-2.0-or-later
/* Watches for the ends of the processes that hold devices, by a pidfd each. */
#include "ends.h"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hold.h"
#include "pcidevfs/util.h"

void ends_open(struct ends *e, const struct sysfs *s)
{
	e->epoll = hold_tables_own(s) ? epoll_create1(EPOLL_CLOEXEC) : -1;
}

/* Call it with the lock held. */
static void forget(struct ends *e, size_t i)
{
	close(e->v[i].fd);
	e->v[i] = e->v[--e->n];
}

/* Call it with the lock held. Without room or a descriptor only the slow look finds the end. */
static void add(struct ends *e, pid_t pid)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = (uint64_t)pid };
	int fd;

	for (size_t i = 0; i < e->n; i++)
		if (e->v[i].pid == pid)
			return;
	if (e->n == ENDS_MAX)
		return;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return;
	if (epoll_ctl(e->epoll, EPOLL_CTL_ADD, fd, &event)) {
		close(fd);
		return;
	}
	e->v[e->n].pid = pid;
	e->v[e->n++].fd = fd;
}

void ends_watch(struct ends *e, const pid_t *pids, size_t n, bool all)
{
	if (e->epoll < 0)
		return;
	pthread_mutex_lock(&e->lock);
	for (size_t i = e->n; i-- && all;)
		if (!hold_has_pid(pids, n, e->v[i].pid))
			forget(e, i);
	for (size_t i = 0; i < n; i++)
		add(e, pids[i]);
	pthread_mutex_unlock(&e->lock);
}

bool ends_heard(struct ends *e)
{
	struct epoll_event events[ENDS_MAX];
	int n;

	pthread_mutex_lock(&e->lock);
	n = epoll_wait(e->epoll, events, ENDS_MAX, 0);
	for (int k = 0; k < n; k++)
		for (size_t i = e->n; i--;)
			if (e->v[i].pid == (pid_t)events[k].data.u64)
				forget(e, i);
	pthread_mutex_unlock(&e->lock);
	return n > 0;
}

void ends_close(struct ends *e)
{
	while (e->n)
		forget(e, e->n - 1);
	closep(&e->epoll);
}
