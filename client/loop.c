// SPDX-License-Identifier: GPL-2.0-or-later
#include "loop.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

static void on_wake(struct source *s)
{
	uint64_t n;

	(void)!read(s->fd, &n, sizeof(n));
}

static void on_signal(struct source *s)
{
	struct loop *l = container_of(s, struct loop, signals);
	struct signalfd_siginfo info;

	if (read(s->fd, &info, sizeof(info)) == sizeof(info))
		l->ended = true;
}

static int watch_signals(struct loop *l, struct err *err)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	return fd >= 0 ? loop_watch(l, &l->signals, fd, on_signal, err)
		       : fail(err, errno, "signalfd: %s", strerror(errno));
}

int loop_open(struct loop *l, struct err *err)
{
	int fd;

	*l = (struct loop){ .epoll = epoll_create1(EPOLL_CLOEXEC), .signals.fd = -1,
			   .wake.fd = -1 };
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&l->turn, NULL);
	pthread_mutex_lock(&l->turn);
	if (l->epoll < 0 || fd < 0)
		return fail(err, errno, "epoll: %s", strerror(errno));
	return loop_watch(l, &l->wake, fd, on_wake, err) ?: watch_signals(l, err);
}

void loop_close(struct loop *l)
{
	closep(&l->signals.fd);
	closep(&l->wake.fd);
	closep(&l->epoll);
	l->epoll = l->wake.fd = l->signals.fd = -1;
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

int loop_watch(struct loop *l, struct source *s, int fd, void (*ready)(struct source *s),
	       struct err *err)
{
	*s = (struct source){ .fd = fd, .ready = ready, .at = UINT64_MAX };
	return loop_add(l, s, err);
}

void loop_timer(struct loop *l, struct source *s, void (*due)(struct source *s), uint64_t at)
{
	*s = (struct source){ .fd = -1, .due = due, .at = at };
	loop_add(l, s, NULL);
}

void source_by(struct source *s, uint64_t at)
{
	s->at = at < s->at ? at : s->at;
}

void source_soon(struct source *s, uint64_t last, unsigned int gap_ms)
{
	uint64_t now = now_ms(), at = last + gap_ms;

	source_by(s, at < now ? now : at);
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

void loop_heed(struct loop *l, struct source *s, bool readable, bool writable)
{
	struct epoll_event ev = { .data.ptr = s };

	ev.events = (readable ? EPOLLIN : 0u) | (writable ? EPOLLOUT : 0u);
	epoll_ctl(l->epoll, EPOLL_CTL_MOD, s->fd, &ev);
}

static uint64_t next_time(const struct loop *l)
{
	uint64_t at = UINT64_MAX;

	for (const struct source *s = l->timers; s; s = s->next)
		at = s->at < at ? s->at : at;
	return at;
}

static int pause_to(uint64_t until)
{
	uint64_t now = now_ms();

	if (until == UINT64_MAX)
		return -1;
	return until <= now ? 0 : until - now < INT_MAX ? (int)(until - now) : INT_MAX;
}

void loop_enter(struct loop *l)
{
	pthread_mutex_lock(&l->turn);
}

void loop_leave(struct loop *l)
{
	bool wake;

	if (l->after)
		l->after(l->after_ctx);
	wake = next_time(l) < l->until;
	pthread_mutex_unlock(&l->turn);
	if (wake)
		event_ring(l->wake.fd);
}

/* Only sleeps. The event is asked for again in our turn, because its source may be gone by then. */
static void sleep_until_heard(struct loop *l)
{
	struct pollfd p = { .fd = l->epoll, .events = POLLIN };
	int ms;

	l->until = next_time(l);
	ms = pause_to(l->until);
	pthread_mutex_unlock(&l->turn);
	poll(&p, 1, ms);
	pthread_mutex_lock(&l->turn);
	l->until = 0;
}

/* A callback may remove any source, so the list is searched anew after each. Each runs once, or
 * else one that asks for a turn at once kept the others from theirs. */
static void run_due(struct loop *l)
{
	uint64_t now = now_ms();
	struct source *s;

	l->round++;
	do {
		for (s = l->timers; s && (s->at > now || s->round == l->round); s = s->next)
			;
		if (s) {
			s->at = UINT64_MAX;
			s->round = l->round;
			s->due(s);
		}
	} while (s);
}

/* Handles one event a turn, because its callback may free the source of another one. */
void loop_run(struct loop *l)
{
	while (!l->ended) {
		struct epoll_event ev;

		if (l->after)
			l->after(l->after_ctx);
		sleep_until_heard(l);
		if (epoll_wait(l->epoll, &ev, 1, 0) == 1) {
			struct source *s = ev.data.ptr;

			s->ready(s);
		}
		run_due(l);
	}
}
