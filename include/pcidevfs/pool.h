/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that run jobs in order of submission. There is always a thread for a job, up to max: one
 * that waits for a hung driver holds nobody up. Idle threads beyond the first end after a while. */
#ifndef PCIDEVFS_POOL_H
#define PCIDEVFS_POOL_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct pool;

int pool_new(unsigned int max, struct pool **ret, struct err *err);
/* Of a pool of one thread, before its first job: notes there the number of the job that runs; 0
 * none. */
void pool_watch(struct pool *p, _Atomic uint64_t *in_hand);
/* Takes no more jobs (-ESHUTDOWN), runs those it has, waits for all threads but those that are
 * blocked. False: there are such, and the pool must stay with them. */
bool pool_end(struct pool *p);
/* After that, and when nobody asks it for anything any more. */
void pool_free(struct pool *p);
/* 0, -ENOMEM, -EAGAIN when no thread can be had at all, -ESHUTDOWN. */
int pool_submit(struct pool *p, void (*run)(void *ctx), void *ctx);
/* The same for what cannot wait for another job: -EAGAIN also where a thread is there, but none is
 * free for it. */
int pool_submit_now(struct pool *p, void (*run)(void *ctx), void *ctx);
/* Around a wait without end, by the job that waits or on its behalf: its thread does not count
 * meanwhile. */
void pool_blocked(struct pool *p, bool blocked);

#endif
