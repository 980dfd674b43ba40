// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "spawn.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "options.h"
#include "pcidevfs/backend.h"
#include "pcidevfs/err.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"
#include "server.h"

enum { YOUNG_MS = 1000, PAUSE_MS = 5, PAUSE_MAX_MS = 200 };

const struct spawn spawn_none = { .ask = -1, .listen = -1, .pidfd = -1 };

int spawn_open(struct spawn *s, struct err *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return fail(err, errno, "no socket for the helpers: %s", strerror(errno));
	s->ask = pair[0];
	s->listen = pair[1];
	return 0;
}

/* A spawner that is killed after some time is replaced at once. */
static void reap(struct spawn *s)
{
	bool young = now_ms() - s->since < YOUNG_MS;

	server_reap(&s->pid, &s->pidfd);
	if (!young)
		s->pause = 0;
	s->start_at = now_ms();
	if (young)
		s->start_at += back_off(&s->pause, PAUSE_MS, PAUSE_MAX_MS);
}

static void start(struct spawn *s, const struct options *o)
{
	s->since = now_ms();
	s->pid = backend_spawn(&o->roots, s->listen);
	s->pidfd = s->pid > 0 ? (int)syscall(SYS_pidfd_open, s->pid, 0) : -1;
	if (s->pidfd >= 0) {
		server_victim(s->pid);
		return;
	}
	say("the process that starts helpers cannot be started: %s", strerror(errno));
	reap(s);
}

void spawn_watch(struct spawn *s, const struct options *o)
{
	struct pollfd p = { .fd = s->pidfd, .events = POLLIN };

	if (s->ask < 0)
		return;
	if (s->pid > 0 && poll(&p, 1, 0) == 1)
		reap(s);
	if (s->pid <= 0 && now_ms() >= s->start_at)
		start(s, o);
}

uint64_t spawn_look_at(const struct spawn *s)
{
	return s->pid > 0 || s->ask < 0 ? UINT64_MAX : s->start_at;
}

void spawn_close(struct spawn *s)
{
	server_reap(&s->pid, &s->pidfd);
	closep(&s->ask);
	closep(&s->listen);
	*s = spawn_none;
}
