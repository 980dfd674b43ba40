/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One thread for what is too much work for the FUSE thread but waits for nobody. The engine's
 * executors may all be waiting for the kernel; reading must go on.
 */
#ifndef FS_WORKER_H
#define FS_WORKER_H

struct err;
struct worker;

int worker_new(struct worker **ret, struct err *err);
/* Jobs that have not begun are dropped. */
void worker_free(struct worker *w);
/* 0 or -ENOMEM. */
int worker_do(struct worker *w, void (*job)(void *ctx), void *ctx);

#endif
