// SPDX-License-Identifier: GPL-2.0-or-later
/* When what is asked: by operations, which wait for the answer, and by our own threads. */
#include "ask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "look.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/say.h"
#include "pcidevfs/thread.h"
#include "pcidevfs/util.h"

#define BURST_MS 25  /* a burst of events is one question */
#define PAUSE_MS 100 /* between two of a row: a helper walks /proc, or the whole block layer */
#define WATCH_MS 2000
#define AGAIN_MS 1000
#define AGAIN_MAX_MS 30000

bool asker_watch(struct asker *asker, const struct ask_row *const *rows)
{
	while (rows && *rows && asker->n < ASKS_MAX)
		asker->of[asker->n++].row = *rows++;
	return !rows || !*rows;
}

struct ask_state *ask_state(struct backend *b, const struct ask_row *row)
{
	for (size_t i = 0; i < b->asker.n; i++)
		if (b->asker.of[i].row == row)
			return &b->asker.of[i];
	say("nobody watches %s", row->what);
	abort();
}

bool ask_set_has(const struct ask_set *set, const struct key *key)
{
	bool has = set->all;

	for (size_t i = 0; i < set->n && !has; i++)
		has = key_eq(&set->devs[i], key);
	return has;
}

/* devs NULL: all. */
static void set_add(struct ask_set *set, const struct key *devs, size_t n)
{
	set->all |= !devs;
	for (size_t i = 0; i < n && !set->all; i++)
		if (set->n == QUESTION_MAX)
			set->all = !ask_set_has(set, &devs[i]);
		else if (!ask_set_has(set, &devs[i]))
			set->devs[set->n++] = devs[i];
}

/* Takes these out, as far as they are named. */
static void set_drop(struct ask_set *set, const struct ask_set *these)
{
	size_t n = 0;

	for (size_t i = 0; i < set->n; i++)
		if (!ask_set_has(these, &set->devs[i]))
			set->devs[n++] = set->devs[i];
	set->n = n;
	set->all &= !these->all;
}

int ask_takes(const struct asking *a, const struct key *dev)
{
	struct ask_state *s = ask_state(a->b, a->row);
	int rc;

	if (!a->lane)
		return 1;
	pthread_mutex_lock(&a->b->asker.lock);
	if ((a->own ? &s->ops : &s->own)->asks)
		rc = newest_take(&s->told, dev, a->lane->began_us);
	else
		rc = newest_of(&s->told, dev) <= a->lane->began_us;
	pthread_mutex_unlock(&a->b->asker.lock);
	return rc;
}

/* Asks the next question of a lane. Call it with the lock held, which it leaves meanwhile. Returns
 * whether there is something to ask again. */
static bool ask_next(struct backend *b, struct ask_state *s, struct ask_lane *lane)
{
	struct asking a = { .b = b, .row = s->row, .lane = lane, .own = lane == &s->own };
	uint64_t number = ++lane->started;
	int rc;

	lane->now = lane->next;
	lane->next.n = 0;
	lane->next.all = false;
	if (!s->ops.asks && !s->own.asks)
		s->told.n = 0;
	lane->asks = true;
	lane->began_us = now_us();
	if (!a.own)
		set_drop(&s->own.next, &lane->now);
	pthread_mutex_unlock(&b->asker.lock);
	rc = ask_run(&a, lane->now.all ? NULL : lane->now.devs, lane->now.n);
	rc = rc ? rc : a.put_off ? -EAGAIN : 0;
	pthread_mutex_lock(&b->asker.lock);
	lane->asks = false;
	lane->ended = number;
	lane->failed = rc ? number : lane->failed;
	lane->rc = rc ? rc : lane->rc;
	pthread_cond_broadcast(&b->asker.ended);
	return a.any;
}

/* If our thread is asking about all of these, waits for that. Call it with the lock held. */
static bool await_own(struct asker *asker, const struct ask_state *s, const struct key *devs,
		      size_t n, uint64_t since)
{
	struct timespec until = in_ms(s->row->deadline_ms);
	const struct ask_lane *own = &s->own;
	bool covers = since && own->asks && own->began_us > since && (devs || own->now.all);
	uint64_t number = own->started;
	int rc = 0;

	for (size_t i = 0; i < n && devs && covers; i++)
		covers = ask_set_has(&own->now, &devs[i]);
	while (covers && own->ended < number && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&asker->ended, &asker->lock, &until);
	return covers && own->ended >= number && own->failed < number;
}

/* Questions of operations that come during one share the next. */
static int share(struct backend *b, struct ask_state *s, const struct key *devs, size_t n,
		 uint64_t since)
{
	struct timespec until = in_ms(3 * s->row->deadline_ms);
	uint64_t wanted;
	int rc = 0;

	pthread_mutex_lock(&b->asker.lock);
	if (!await_own(&b->asker, s, devs, n, since)) {
		set_add(&s->ops.next, devs, n);
		wanted = s->ops.started + 1;
		while (s->ops.ended < wanted && rc != ETIMEDOUT)
			if (s->ops.asks)
				rc = pthread_cond_timedwait(&b->asker.ended, &b->asker.lock,
							    &until);
			else
				ask_next(b, s, &s->ops);
		/* If a later one has failed, ours may have. */
		rc = s->ops.ended < wanted ? -ETIMEDOUT : s->ops.failed < wanted ? 0 : s->ops.rc;
	}
	pthread_mutex_unlock(&b->asker.lock);
	return rc;
}

/* Call it with the lock held. */
static void make_due(struct backend *b, const struct ask_state *s, uint64_t *due, uint64_t at)
{
	if (*due && *due <= at)
		return;
	*due = at;
	pthread_cond_signal(&b->asker.threads[s->row->thread].wake);
}

static void want(struct backend *b, struct ask_state *s, const struct key *devs, size_t n,
		 unsigned int ms)
{
	pthread_mutex_lock(&b->asker.lock);
	set_add(&s->own.next, devs, n);
	make_due(b, s, &s->due_ms, now_ms() + ms);
	pthread_mutex_unlock(&b->asker.lock);
}

void ask_soon(struct backend *b, const struct ask_row *row, const struct key *key, unsigned int ms)
{
	want(b, ask_state(b, row), key, 1, ms);
}

int ask_now(struct backend *b, const struct ask_row *row, const struct key *devs, size_t n,
	    uint64_t since, struct err *err)
{
	struct ask_state *s = ask_state(b, row);
	struct asking a = { .b = b, .row = row };
	int rc = row->batch ? ask_run(&a, devs, n) : share(b, s, devs, n, since);

	if (!rc)
		return 0;
	if (!row->batch)
		want(b, s, devs, n, 0);
	return fail(err, -rc, "cannot determine %s: %s; see health", row->what, strerror(-rc));
}

int ask_touched(struct backend *b, const struct ask_row *row, const struct touched *v, size_t n,
		bool (*needs)(const struct ask_row *row, const struct device *dev), struct err *err)
{
	_free_ struct key *devs = calloc(n + 1, sizeof(*devs));
	size_t found = 0;

	if (!devs)
		return fail_nomem(err);
	model_lock(b->model);
	for (size_t i = 0; i < n; i++) {
		const struct device *dev = model_find(b->model, &v[i].key);

		if (dev && (!needs || needs(row, dev)))
			devs[found++] = dev->key;
	}
	model_unlock(b->model);
	return found ? ask_now(b, row, devs, found, 0, err) : 0;
}

/* The number of the question in which our thread asks about a device now or soon; 0: none. Call it
 * with the lock held. */
static uint64_t asked_in(const struct ask_state *s, const struct key *key)
{
	const struct ask_lane *own = &s->own;

	if (ask_set_has(&own->next, key) && s->due_ms && s->due_ms <= now_ms() + PAUSE_MS)
		return own->started + 1;
	return own->asks && ask_set_has(&own->now, key) ? own->started : 0;
}

void ask_await(struct backend *b, const struct ask_row *row, const struct key *key,
	       const struct key *devs, size_t n, unsigned int ms)
{
	struct ask_state *s = ask_state(b, row);
	struct timespec until = in_ms(ms);
	uint64_t number;
	int rc = 0;

	if (n)
		want(b, s, devs, n, 0);
	pthread_mutex_lock(&b->asker.lock);
	number = asked_in(s, key);
	while (s->own.ended < number && !b->asker.stop && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&b->asker.ended, &b->asker.lock, &until);
	pthread_mutex_unlock(&b->asker.lock);
}

void ask_changed(struct backend *b, const struct key *key)
{
	for (size_t i = 0; i < b->asker.n; i++)
		if (b->asker.of[i].row->follows)
			want(b, &b->asker.of[i], key, 1, BURST_MS);
}

void ask_settle(struct backend *b, const struct ask_row *row)
{
	struct ask_state *s = ask_state(b, row);
	struct timespec until = in_ms(row->deadline_ms);
	int rc = 0;

	pthread_mutex_lock(&b->asker.lock);
	while (s->own.asks && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&b->asker.ended, &b->asker.lock, &until);
	pthread_mutex_unlock(&b->asker.lock);
}

/* When our thread asks next; 0: never. Call it with the lock held. */
static uint64_t next_ms(const struct ask_state *s)
{
	uint64_t at = !s->due_ms || (s->all_ms && s->all_ms < s->due_ms) ? s->all_ms : s->due_ms;

	return at && at < s->rest_ms ? s->rest_ms : at;
}

/* Call it with the lock held. */
static void ask_own(struct backend *b, struct ask_state *s)
{
	unsigned int again;

	if (s->all_ms && s->all_ms <= now_ms()) {
		s->own.next.all = true;
		s->all_ms = 0;
	}
	s->due_ms = 0;
	again = ask_next(b, s, &s->own) ? s->row->period_ms : 0;
	if (s->own.failed == s->own.ended && s->row->retries)
		again = back_off(&s->pause, AGAIN_MS, AGAIN_MAX_MS);
	else
		s->pause = 0;
	s->rest_ms = now_ms() + PAUSE_MS;
	if (again)
		make_due(b, s, &s->all_ms, now_ms() + again);
}

/* Asks what is due, or waits for it. Call it with the lock held. */
static void serve_one(struct backend *b, struct asker_thread *t)
{
	uint64_t now = now_ms(), first = UINT64_MAX;
	struct timespec until;

	for (size_t i = 0; i < b->asker.n; i++) {
		struct ask_state *s = &b->asker.of[i];
		uint64_t at = t == &b->asker.threads[s->row->thread] ? next_ms(s) : 0;

		if (at && at <= now) {
			ask_own(b, s);
			return;
		}
		first = at && at < first ? at : first;
	}
	until = in_ms((unsigned int)(first - now));
	if (first == UINT64_MAX)
		pthread_cond_wait(&t->wake, &b->asker.lock);
	else
		pthread_cond_timedwait(&t->wake, &b->asker.lock, &until);
}

static void *asker_main(void *arg)
{
	struct asker_thread *t = arg;
	struct asker *asker = &t->b->asker;

	pthread_mutex_lock(&asker->lock);
	while (!asker->stop)
		serve_one(t->b, t);
	pthread_mutex_unlock(&asker->lock);
	return NULL;
}

/* What is watched may have changed. */
static void arm(struct backend *b, change_bits bits)
{
	pthread_mutex_lock(&b->asker.lock);
	for (size_t i = 0; i < b->asker.n; i++) {
		struct ask_state *s = &b->asker.of[i];

		if (s->row->on & bits && !s->all_ms)
			make_due(b, s, &s->all_ms, now_ms() + WATCH_MS);
	}
	pthread_mutex_unlock(&b->asker.lock);
}

/* The release of a device by a pod makes us look for its holders, before it goes to
 * the next pod. */
static void find_let_go(struct backend *b, const struct key *key)
{
	const struct device *dev;

	model_lock(b->model);
	dev = model_find(b->model, key);
	if (dev && dev->let_go)
		ask_soon(b, &ask_holders, key, 0);
	model_unlock(b->model);
}

static void changed(void *ctx, const struct change *changes, size_t n)
{
	change_bits bits = 0;

	for (size_t i = 0; i < n; i++) {
		bits |= changes[i].action == ACTION_REMOVE ? 0 : changes[i].bits;
		if (changes[i].bits & CH_ALLOCATED)
			find_let_go(ctx, &changes[i].key);
	}
	arm(ctx, bits);
}

void asker_hear(struct backend *b)
{
	model_observe(b->model, &(struct observer){ changed, b });
	arm(b, CH_ALL); /* a former process may have left claims */
}

void asker_open(struct asker *asker)
{
	pthread_mutex_init(&asker->lock, NULL);
	cond_init(&asker->ended);
	for (int i = 0; i < ASKERS; i++)
		cond_init(&asker->threads[i].wake);
}

void asker_free(struct backend *b)
{
	free(b->asker.hung);
	free(b->seen);
	for (size_t i = 0; i < b->asker.n; i++)
		free(b->asker.of[i].told.v);
	free(b->liveness.v);
	for (int i = 0; i < ASKERS; i++)
		pthread_cond_destroy(&b->asker.threads[i].wake);
	pthread_cond_destroy(&b->asker.ended);
	pthread_mutex_destroy(&b->asker.lock);
}

int asker_start(struct backend *b)
{
	int rc = 0;

	for (int i = 0; i < ASKERS && !rc; i++) {
		b->asker.threads[i].b = b;
		rc = -thread_start(&b->asker.threads[i].id, asker_main, &b->asker.threads[i]);
		if (rc)
			b->asker.threads[i].b = NULL;
	}
	return rc;
}

void asker_stop(struct backend *b)
{
	pthread_mutex_lock(&b->asker.lock);
	b->asker.stop = true;
	for (int i = 0; i < ASKERS; i++)
		pthread_cond_signal(&b->asker.threads[i].wake);
	pthread_cond_broadcast(&b->asker.ended);
	pthread_mutex_unlock(&b->asker.lock);
	for (int i = 0; i < ASKERS; i++)
		if (b->asker.threads[i].b)
			pthread_join(b->asker.threads[i].id, NULL);
}
