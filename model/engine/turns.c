// SPDX-License-Identifier: GPL-2.0-or-later
#include "turns.h"

#include <errno.h>
#include <stdlib.h>

#include "pcidevfs/pool.h"
#include "pcidevfs/txn.h"

struct turn {
	struct turns *turns;
	struct turn_user *user; /* NULL: has a reserve, or no longer counts */
	turn_job *run;
	void *ctx;
	struct turn *next;
};

/* Guarded by turns->lock. */
struct turn_user {
	uid_t uid;
	unsigned int running, waiting;
	struct turn *first, **last;
	struct turn_user *next;
};

void turns_init(struct turns *s, struct pool *pool)
{
	*s = (struct turns){ .pool = pool };
	pthread_mutex_init(&s->lock, NULL);
}

void turns_destroy(struct turns *s)
{
	pthread_mutex_destroy(&s->lock);
}

/* Appends the user to those who take turns. Call it with the lock held. */
static void queue_user(struct turns *s, struct turn_user *u)
{
	struct turn_user **at = &s->users;

	while (*at)
		at = &(*at)->next;
	u->next = NULL;
	*at = u;
}

static void unqueue_user(struct turns *s, struct turn_user *u)
{
	struct turn_user **at = &s->users;

	while (*at != u)
		at = &(*at)->next;
	*at = u->next;
}

/* NULL: no memory. Call it with the lock held. */
static struct turn_user *user_of(struct turns *s, uid_t uid)
{
	struct turn_user *u = s->users;

	while (u && u->uid != uid)
		u = u->next;
	if (u)
		return u;
	u = calloc(1, sizeof(*u));
	if (!u)
		return NULL;
	u->uid = uid;
	u->last = &u->first;
	queue_user(s, u);
	return u;
}

/* Takes the first job of the next user, who then comes last. NULL: none may run now. Call it with
 * the lock held. */
static struct turn *take(struct turns *s)
{
	struct turn_user *u = s->users;
	struct turn *turn;

	while (u && (!u->first || u->running >= TURNS_OF_USER))
		u = u->next;
	if (!u || s->running >= TURNS_OF_ALL)
		return NULL;
	turn = u->first;
	u->first = turn->next;
	if (!u->first)
		u->last = &u->first;
	u->waiting--;
	s->waiting--;
	u->running++;
	s->running++;
	unqueue_user(s, u);
	queue_user(s, u);
	return turn;
}

/* Call it with the lock held. */
static void put(struct turn *turn)
{
	struct turn_user *u = turn->user;

	turn->next = NULL;
	*u->last = turn;
	u->last = &turn->next;
	u->waiting++;
	turn->turns->waiting++;
}

/* Forgets a user without jobs. Call it with the lock held. */
static void forget_idle(struct turns *s, struct turn_user *u)
{
	if (u->running || u->first)
		return;
	unqueue_user(s, u);
	free(u);
}

/* The job no longer runs. Call it with the lock held. */
static void leave(struct turn *turn)
{
	struct turn_user *u = turn->user;

	if (!u)
		return;
	turn->user = NULL;
	u->running--;
	turn->turns->running--;
	forget_idle(turn->turns, u);
}

/* A thread that has ended a job goes on with the next one, so no submission can fail. */
static void work(void *ctx)
{
	struct turn *turn = ctx;

	while (turn) {
		struct turns *s = turn->turns;
		struct turn *next = NULL;

		turn->run(turn->ctx, turn);
		pthread_mutex_lock(&s->lock);
		if (turn->user) {
			leave(turn);
			next = take(s);
		}
		pthread_mutex_unlock(&s->lock);
		free(turn);
		turn = next;
	}
}

/* Starts a thread for a job that may run now. If that fails the job waits on, for the next thread
 * that ends one. Call it with the lock held. */
static void start_next(struct turns *s)
{
	struct turn *turn = take(s);

	if (!turn || !pool_submit(s->pool, work, turn))
		return;
	turn->user->running--;
	s->running--;
	turn->next = turn->user->first;
	if (!turn->next)
		turn->user->last = &turn->next;
	turn->user->first = turn;
	turn->user->waiting++;
	s->waiting++;
}

void turn_yield(struct turn *turn)
{
	struct turns *s = turn->turns;

	pthread_mutex_lock(&s->lock);
	leave(turn);
	start_next(s);
	pthread_mutex_unlock(&s->lock);
}

/* The limit for one user; a user without waiting jobs may always add one. Call it with the lock
 * held. */
static unsigned int waiting_allowed(const struct turns *s)
{
	unsigned int left = s->waiting < WAITING_OF_ALL ? WAITING_OF_ALL - s->waiting : 0;

	return left > WAITING_OF_USER ? WAITING_OF_USER : left ? left : 1;
}

/* Only a job that would run at once can fail for lack of a thread. Call it with the lock held. */
static int enter(struct turn *turn, uid_t uid)
{
	struct turns *s = turn->turns;
	struct turn_user *u = user_of(s, uid);
	int r = 0;

	if (!u)
		return -ENOMEM;
	turn->user = u;
	if (u->running >= TURNS_OF_USER || s->running >= TURNS_OF_ALL || u->first) {
		if (u->waiting >= waiting_allowed(s))
			return -EDQUOT;
		put(turn);
		if (!s->running)
			start_next(s);
		return 0;
	}
	u->running++;
	s->running++;
	r = pool_submit(s->pool, work, turn);
	if (r)
		leave(turn);
	return r;
}

int turns_submit(struct turns *s, const struct actor *who, turn_job *run, void *ctx)
{
	struct turn *turn = malloc(sizeof(*turn));
	int r;

	if (!turn)
		return -ENOMEM;
	*turn = (struct turn){ .turns = s, .run = run, .ctx = ctx };
	if (who->opener.reserve) {
		r = pool_submit(s->pool, work, turn);
	} else {
		pthread_mutex_lock(&s->lock);
		r = enter(turn, who->opener.uid);
		pthread_mutex_unlock(&s->lock);
	}
	if (r)
		free(turn);
	return r;
}
