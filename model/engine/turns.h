/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose job runs next on the executors. A user without a reserve has few at once, and all such
 * users together leave room: so one who asks for hundreds delays neither root, the plugin nor sync,
 * and other users by a job or two. Users take turns, and the jobs of one are run in their order.
 * Thread-safe.
 */
#ifndef MODEL_TURNS_H
#define MODEL_TURNS_H

#include <pthread.h>
#include <stdbool.h>

struct actor;
struct pool;
struct turn;
struct turn_user;

#define TURNS_OF_USER 4 /* run at once */
#define TURNS_OF_ALL 32 /* ... of all users without a reserve */
#define WAITING_OF_USER 512
#define WAITING_OF_ALL 2048 /* no user may have more waiting than are left of these, but one */

typedef void turn_job(void *ctx, struct turn *turn);

struct turns {
	struct pool *pool;
	pthread_mutex_t lock;
	struct turn_user *users;       /* lock; those who have jobs, the next in turn first */
	unsigned int running, waiting; /* lock */
};

void turns_init(struct turns *s, struct pool *pool);
void turns_destroy(struct turns *s);
/* 0, or as pool_submit(); -EDQUOT: this user, or all, have too many waiting. */
int turns_submit(struct turns *s, const struct actor *who, turn_job *run, void *ctx);
/* By a job that is going to wait without end: it no longer counts. */
void turn_yield(struct turn *turn);

#endif
