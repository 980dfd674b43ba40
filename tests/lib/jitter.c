// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Preloaded (make test-jitter): threads of our programs stop at random, as on a busy machine, but
 * far more often. A thread has spells of 20 to 80 ms; in JITTER of a hundred it stops before and
 * after each call of those below, one time in three, for up to 12 ms. What a test finds only if the
 * machine was quick, and what the programs get wrong if two things come in the other order, is seen
 * in minutes, not once in a thousand runs.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { SPELL_MS = 20, SPELL_MORE_MS = 60, STOP_NS = 12000000, STOPS = 3 };

static unsigned int slow_of_100;

static __thread struct {
	uint64_t random, ends_ns;
	bool slow;
} spell;

__attribute__((constructor)) static void start(void)
{
	static const char *const ours[] = { "pcidevfsd", "pcidevfs-plugin" };
	const char *of_100 = getenv("JITTER");

	for (size_t i = 0; of_100 && i < sizeof(ours) / sizeof(ours[0]); i++)
		if (!strcmp(program_invocation_short_name, ours[i]))
			slow_of_100 = (unsigned int)strtoul(of_100, NULL, 10);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* xorshift64 */
static unsigned int below(unsigned int n)
{
	if (!spell.random)
		spell.random = now_ns() ^ (uintptr_t)&spell;
	spell.random ^= spell.random << 13;
	spell.random ^= spell.random >> 7;
	spell.random ^= spell.random << 17;
	return (unsigned int)(spell.random >> 20) % n;
}

static void stop(void)
{
	int err = errno;
	uint64_t now;

	if (!slow_of_100)
		return;
	now = now_ns();
	if (now >= spell.ends_ns) {
		spell.slow = below(100) < slow_of_100;
		spell.ends_ns = now + (SPELL_MS + below(SPELL_MORE_MS)) * UINT64_C(1000000);
	}
	if (spell.slow && !below(STOPS)) {
		const struct timespec t = { .tv_nsec = below(STOP_NS) };

		clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
	}
	errno = err;
}

#define AROUND(type, name, params, args)                                                           \
	type name params                                                                           \
	{                                                                                          \
		static __typeof__(&(name)) real;                                                   \
		type r;                                                                            \
                                                                                                   \
		if (!real)                                                                         \
			real = (__typeof__(real))dlsym(RTLD_NEXT, #name);                          \
		stop();                                                                            \
		r = real args;                                                                     \
		stop();                                                                            \
		return r;                                                                          \
	}

AROUND(ssize_t, read, (int fd, void *buf, size_t n), (fd, buf, n))
AROUND(ssize_t, write, (int fd, const void *buf, size_t n), (fd, buf, n))
AROUND(ssize_t, writev, (int fd, const struct iovec *v, int n), (fd, v, n))
AROUND(ssize_t, pwrite, (int fd, const void *buf, size_t n, off_t at), (fd, buf, n, at))
AROUND(ssize_t, recvmsg, (int fd, struct msghdr *m, int flags), (fd, m, flags))
AROUND(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags))
AROUND(int, poll, (struct pollfd * fds, nfds_t n, int ms), (fds, n, ms))
AROUND(int, epoll_wait, (int fd, struct epoll_event *e, int n, int ms), (fd, e, n, ms))
AROUND(int, pthread_mutex_lock, (pthread_mutex_t * m), (m))
AROUND(int, pthread_mutex_unlock, (pthread_mutex_t * m), (m))
