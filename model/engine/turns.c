// SPDX-License-Identifier: GPL-2.0-or-later
#include "turns.h"

#include <errno.h>
#include <stdlib.h>

#include "pcidevfs/pool.h"
#include "pcidevfs/txn.h"

struct turn {
	struct turns *turns;
	struct creds who;
	bool counts; /* turns->lock; among those that run */
	turn_job *run;
	void *ctx;
	struct turn *next;
};

void turns_init(struct turns *s, struct pool *pool)
{
	*s = (struct turns){ .pool = pool,
			     .waiting = { .of_user = WAITING_OF_USER, .of_all = WAITING_OF_ALL } };
	s->last = &s->first;
	pthread_mutex_init(&s->lock, NULL);
}

void turns_destroy(struct turns *s)
{
	quota_free(&s->waiting);
	pthread_mutex_destroy(&s->lock);
}

/* The job that runs next, which counts from now on; NULL: none may. Call it with the lock held. */
static struct turn *take(struct turns *s)
{
	struct turn *turn = s->running < TURNS_OF_ALL ? s->first : NULL;

	if (!turn)
		return NULL;
	s->first = turn->next;
	if (!s->first)
		s->last = &s->first;
	quota_give(&s->waiting, &turn->who, 1);
	turn->counts = true;
	s->running++;
	return turn;
}

/* The job no longer runs. Call it with the lock held. Returns the next one. */
static struct turn *leave(struct turn *turn)
{
	if (!turn->counts)
		return NULL;
	turn->counts = false;
	turn->turns->running--;
	return take(turn->turns);
}

/* A thread that has ended a job goes on with the next one, so no submission can fail. */
static void work(void *ctx)
{
	struct turn *turn = ctx;

	while (turn) {
		struct turns *s = turn->turns;
		struct turn *next;

		turn->run(turn->ctx, turn);
		pthread_mutex_lock(&s->lock);
		next = leave(turn);
		pthread_mutex_unlock(&s->lock);
		free(turn);
		turn = next;
	}
}

/* If there is no thread for it the job waits on, as the first one, for the next that ends. Call it
 * with the lock held. */
static void start(struct turns *s, struct turn *turn)
{
	if (!turn || !pool_submit(s->pool, work, turn))
		return;
	s->running--;
	turn->counts = false;
	turn->next = s->first;
	s->first = turn;
	if (!turn->next)
		s->last = &turn->next;
	quota_count(&s->waiting, &turn->who, 1);
}

void turn_yield(struct turn *turn)
{
	struct turns *s = turn->turns;

	pthread_mutex_lock(&s->lock);
	start(s, leave(turn));
	pthread_mutex_unlock(&s->lock);
}

/* Only a job that would run at once can fail for lack of a thread. Call it with the lock held. */
static int enter(struct turns *s, struct turn *turn)
{
	int r;

	if (!s->first && s->running < TURNS_OF_ALL) {
		turn->counts = true;
		r = pool_submit(s->pool, work, turn);
		s->running += !r;
		return r;
	}
	r = quota_take(&s->waiting, &turn->who, 1, NULL);
	if (r)
		return r == -ENOMEM ? r : -EDQUOT;
	*s->last = turn;
	s->last = &turn->next;
	if (!s->running)
		start(s, take(s));
	return 0;
}

int turns_submit(struct turns *s, const struct actor *who, turn_job *run, void *ctx)
{
	struct turn *turn = malloc(sizeof(*turn));
	int r;

	if (!turn)
		return -ENOMEM;
	*turn = (struct turn){ .turns = s, .who = who->opener, .run = run, .ctx = ctx };
	if (who->opener.reserve) {
		r = pool_submit(s->pool, work, turn);
	} else {
		pthread_mutex_lock(&s->lock);
		r = enter(s, turn);
		pthread_mutex_unlock(&s->lock);
	}
	if (r)
		free(turn);
	return r;
}
