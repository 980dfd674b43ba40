/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides whose job runs next on the executors. A user without a reserve has few jobs at once, and
 * all such users together leave room. So a user with hundreds of jobs delays neither root, the
 * plugin nor sync, and other users by a job or two. Users take turns; each user's jobs run in
 * order. Thread-safe.
 */
#ifndef MODEL_TURNS_H
#define MODEL_TURNS_H

#include <pthread.h>
#include <stdbool.h>

struct actor;
struct pool;
struct turn;
struct turn_user;

#define TURNS_OF_USER 4 /* jobs at once */
#define TURNS_OF_ALL 32 /* likewise for all users without a reserve */
#define WAITING_OF_USER 512
/* a user may have as many waiting as are left of these, but at least one */
#define WAITING_OF_ALL 2048

typedef void turn_job(void *ctx, struct turn *turn);

struct turns {
	struct pool *pool;
	pthread_mutex_t lock;
	struct turn_user *users;       /* lock; users with jobs, the next in turn first */
	unsigned int running, waiting; /* lock */
};

void turns_init(struct turns *s, struct pool *pool);
void turns_destroy(struct turns *s);
/* Returns 0; -EDQUOT: this user, or all, have too many waiting; or as pool_submit(). */
int turns_submit(struct turns *s, const struct actor *who, turn_job *run, void *ctx);
/* For a job that will wait without end: it no longer counts. */
void turn_yield(struct turn *turn);

#endif
