/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FS_THREAD_H
#define FS_THREAD_H

#include <pthread.h>
#include <signal.h>

#define THREAD_STACK (256 * 1024)

/* Starts a thread that signals do not reach and whose stack is small. Returns 0 or -errno. */
static inline int thread_start(pthread_t *ret, void *(*run)(void *ctx), void *ctx)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, THREAD_STACK);
	r = pthread_create(ret, &attr, run, ctx);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -r;
}

#endif
