/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that run jobs in order of submission. There is always a thread for a job, up to max, so a
 * thread that waits for a hung driver delays no other job. Idle threads but one end in time. */
#ifndef PCIDEVFS_POOL_H
#define PCIDEVFS_POOL_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct pool;

int pool_new(unsigned int max, struct pool **ret, struct err *err);
/* For a pool of one thread, before its first job: keeps there the number of the running job, or
 * 0. */
void pool_watch(struct pool *p, _Atomic uint64_t *in_hand);
/* A long job has done a part: it does not hang. From any thread. */
void pool_goes_on(struct pool *p);
/* Takes no more jobs (-ESHUTDOWN), runs the waiting ones and waits for all threads that are not
 * blocked. Returns false if some are blocked: the pool must then stay. */
bool pool_end(struct pool *p);
/* After pool_end() returned true, when nobody uses the pool any more. */
void pool_free(struct pool *p);
/* Returns 0, -ENOMEM, -ESHUTDOWN, or -EAGAIN if no thread at all can be started. */
int pool_submit(struct pool *p, void (*run)(void *ctx), void *ctx);
/* For a job that cannot wait for another one: also returns -EAGAIN if no thread is free. */
int pool_submit_now(struct pool *p, void (*run)(void *ctx), void *ctx);
/* Brackets an endless wait, called by the waiting job or for it: its thread does not count then. */
void pool_blocked(struct pool *p, bool blocked);

#endif
