/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads, and conditions for them. */
#ifndef PCIDEVFS_THREAD_H
#define PCIDEVFS_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

/* Starts a thread with all signals blocked and a small stack; ret NULL: the thread is detached.
 * Returns 0 or -errno. */
int thread_start(pthread_t *ret, void *(*run)(void *ctx), void *ctx);

/* Does this thread of ours wait for nothing but a CPU? */
bool thread_runs(pid_t tid);

/* A condition on CLOCK_MONOTONIC. */
void cond_init(pthread_cond_t *cond);
/* The time `ms` from now, by that clock. */
struct timespec in_ms(unsigned int ms);

#endif
