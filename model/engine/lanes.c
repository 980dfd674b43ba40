// SPDX-License-Identifier: GPL-2.0-or-later
/* Runs the steps of a plan: one after the other, but beside each other where neighbouring steps
 * concern different cards (verb.lanes). */
#include "operation.h"

#include <errno.h>
#include <stdlib.h>

#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/say.h"
#include "pcidevfs/thread.h"
#include "pcidevfs/util.h"

/* Each lane needs a thread while its driver works. */
#define LANES_AT_ONCE 8

struct lanes {
	struct txn *t;
	struct step *steps;
	uint32_t n;
	uint32_t *first;       /* for each step: the index of the first step of its lane */
	_Atomic uint32_t next; /* not yet taken by a thread */
	_Atomic bool failed;
	pthread_mutex_t lock;
	uint32_t failed_at; /* lock; the first failed step decides the verdict: err */
	int rc;
	struct err err;
};

static int run_step(struct txn *t, struct step *s, struct err *err)
{
	struct engine *e = t->engine;
	uint64_t begun = now_ms();
	int r;

	if (!op_still_there(t, &s->dev))
		return fail(err, ENODEV, "%s went away before its %s", s->dev.name, s->verb->name);
	r = op_recheck(t, s, err);
	if (r)
		return r;
	s->begun = true;
	r = s->verb->run(e->conf.world.backend, s, op_deadline(e, s->verb), err);
	say_debug(SAY_STEPS, "step %s %s \"%s\": %s after %llu ms", s->verb->name, s->dev.name,
		  s->value, err_name(-r), (unsigned long long)(now_ms() - begun));
	s->done = !r || (s->verb->partial && !s->late);
	if (s->done && s->verb->stirs)
		atomic_store(&t->stirred, s);
	return r;
}

static void note_failure(struct lanes *l, uint32_t at, int rc, const struct err *err)
{
	pthread_mutex_lock(&l->lock);
	if (!l->rc || at < l->failed_at) {
		l->failed_at = at;
		l->rc = rc;
		l->err = *err;
	}
	pthread_mutex_unlock(&l->lock);
	atomic_store(&l->failed, true);
}

static void run_lane(struct lanes *l, uint32_t first)
{
	struct err err = { 0 };

	for (uint32_t i = first; i < l->n && !atomic_load(&l->failed); i++) {
		int r = l->first[i] == first ? run_step(l->t, &l->steps[i], &err) : 0;

		if (r)
			note_failure(l, i, err_blame(&err, r, l->steps[i].line), &err);
	}
}

static void *take_lanes(void *ctx)
{
	struct lanes *l = ctx;
	uint32_t i;

	while ((i = atomic_fetch_add(&l->next, 1)) < l->n && !atomic_load(&l->failed))
		if (l->first[i] == i)
			run_lane(l, i);
	return NULL;
}

/* The card of a step's device: its parent, or the device itself. */
static void find_cards(struct txn *t, const struct step *steps, uint32_t n, struct key *cards)
{
	struct model *m = model_of(t);

	model_lock(m);
	for (uint32_t i = 0; i < n; i++) {
		const struct device *d = model_find(m, &steps[i].dev);

		cards[i] = d && d->facts.parent.bus ? d->facts.parent : steps[i].dev;
	}
	model_unlock(m);
}

/* Fills l->first. Returns the number of lanes; 0: no memory. */
static uint32_t find_lanes(struct lanes *l)
{
	_free_ struct key *cards = calloc(l->n, sizeof(*cards));
	_free_ uint32_t *lanes = calloc(l->n, sizeof(*lanes));
	uint32_t n_lanes = 0;

	l->first = calloc(l->n, sizeof(*l->first));
	if (!cards || !lanes || !l->first)
		return 0;
	find_cards(l->t, l->steps, l->n, cards);
	for (uint32_t i = 0; i < l->n; i++) {
		uint32_t k = 0;

		while (k < n_lanes && !key_eq(&cards[lanes[k]], &cards[i]))
			k++;
		if (k == n_lanes)
			lanes[n_lanes++] = i;
		l->first[i] = lanes[k];
	}
	return n_lanes;
}

/* This thread works too: without any other one the lanes run one after the other. */
static int run_lanes(struct lanes *l, uint32_t n_lanes, struct err *err)
{
	pthread_t threads[LANES_AT_ONCE - 1];
	uint32_t n = 0;

	pthread_mutex_init(&l->lock, NULL);
	while (n + 1 < n_lanes && n < ARRAY_SIZE(threads) &&
	       !thread_start(&threads[n], take_lanes, l))
		n++;
	take_lanes(l);
	while (n)
		pthread_join(threads[--n], NULL);
	pthread_mutex_destroy(&l->lock);
	if (l->rc)
		*err = l->err;
	return l->rc;
}

/* How many steps from the first on may run in lanes. */
static uint32_t abreast(const struct step *steps, uint32_t n)
{
	uint32_t i = 0;

	while (i < n && steps[i].verb->lanes)
		i++;
	return i ? i : 1;
}

int op_run_steps(struct txn *t, uint32_t from, struct err *err)
{
	uint32_t n = atomic_load(&t->log->n_steps), n_lanes;
	int r = 0;

	for (struct lanes l; from < n && !r; from += l.n) {
		l = (struct lanes){ .t = t, .steps = &t->log->steps[from] };
		l.n = abreast(l.steps, n - from);
		if (l.n == 1) {
			r = err_blame(err, run_step(t, l.steps, err), l.steps->line);
			continue;
		}
		n_lanes = find_lanes(&l);
		r = n_lanes ? run_lanes(&l, n_lanes, err) : fail_nomem(err);
		free(l.first);
	}
	return r;
}
