// SPDX-License-Identifier: GPL-2.0-or-later
#include "loop.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/epoll.h>
#include <pcidevfs/err.h>
#include <pcidevfs/util.h>

int loop_open(struct loop *l, struct err *err)
{
	*l = (struct loop){ .epoll = epoll_create1(EPOLL_CLOEXEC) };
	return l->epoll >= 0 ? 0 : fail(err, errno, "epoll: %s", strerror(errno));
}

void loop_close(struct loop *l)
{
	closep(&l->epoll);
	l->epoll = -1;
}

int loop_add(struct loop *l, struct source *s, struct err *err)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = s };

	if (s->fd >= 0 && epoll_ctl(l->epoll, EPOLL_CTL_ADD, s->fd, &ev))
		return fail(err, errno, "epoll: %s", strerror(errno));
	s->next = l->timers;
	l->timers = s;
	return 0;
}

void loop_remove(struct loop *l, struct source *s)
{
	struct source **at = &l->timers;

	while (*at && *at != s)
		at = &(*at)->next;
	if (*at)
		*at = s->next;
	if (s->fd >= 0)
		epoll_ctl(l->epoll, EPOLL_CTL_DEL, s->fd, NULL);
}

void loop_mute(struct loop *l, struct source *s, bool mute)
{
	struct epoll_event ev = { .events = mute ? 0 : EPOLLIN, .data.ptr = s };

	epoll_ctl(l->epoll, EPOLL_CTL_MOD, s->fd, &ev);
}

static int pause_of(const struct loop *l)
{
	uint64_t now = now_ms(), until = UINT64_MAX;

	for (const struct source *s = l->timers; s; s = s->next)
		until = s->at < until ? s->at : until;
	if (until == UINT64_MAX)
		return -1;
	return until <= now ? 0 : until - now < INT_MAX ? (int)(until - now) : INT_MAX;
}

/* What is due may remove any source, so it is looked for anew after each. */
static void run_due(struct loop *l)
{
	uint64_t now = now_ms();
	struct source *s;

	do {
		for (s = l->timers; s && s->at > now; s = s->next)
			;
		if (s) {
			s->at = UINT64_MAX;
			s->due(s);
		}
	} while (s);
}

/* One event a turn: what it does may end the life of another's source. */
void loop_run(struct loop *l)
{
	while (!l->ended) {
		struct epoll_event ev;

		if (epoll_wait(l->epoll, &ev, 1, pause_of(l)) == 1) {
			struct source *s = ev.data.ptr;

			s->ready(s);
		}
		run_due(l);
	}
}
