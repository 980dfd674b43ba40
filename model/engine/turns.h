/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Jobs on the executors, of two classes: who has a reserve (root, the plugin, sync) finds a thread,
 * since all others together run few jobs at once. Theirs run in the order in which they came; how
 * many may wait is bounded for each user. Thread-safe.
 */
#ifndef MODEL_TURNS_H
#define MODEL_TURNS_H

#include <pthread.h>

#include "pcidevfs/quota.h"

struct actor;
struct pool;
struct turn;

#define TURNS_OF_ALL 32 /* jobs at once of all users without a reserve */
#define WAITING_OF_USER 512
#define WAITING_OF_ALL 2048

typedef void turn_job(void *ctx, struct turn *turn);

struct turns {
	struct pool *pool;
	pthread_mutex_t lock;	    /* all below */
	struct turn *first, **last; /* those that wait */
	unsigned int running;
	struct quota waiting;
};

void turns_init(struct turns *s, struct pool *pool);
void turns_destroy(struct turns *s);
/* Returns 0; -EDQUOT: this user, or all, have too many waiting; or as pool_submit(). */
int turns_submit(struct turns *s, const struct actor *who, turn_job *run, void *ctx);
/* For a job that will wait without end: it no longer counts. */
void turn_yield(struct turn *turn);

#endif
