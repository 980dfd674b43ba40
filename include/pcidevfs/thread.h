/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads, and what they wait on. */
#ifndef PCIDEVFS_THREAD_H
#define PCIDEVFS_THREAD_H

#include <pthread.h>
#include <time.h>

/* Starts a thread that signals do not reach and whose stack is small; ret NULL: nobody joins it.
 * Returns 0 or -errno. */
int thread_start(pthread_t *ret, void *(*run)(void *ctx), void *ctx);

/* A condition on CLOCK_MONOTONIC. */
void cond_init(pthread_cond_t *cond);
/* So long from now, of that clock. */
struct timespec in_ms(unsigned int ms);

#endif
