// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/txn.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "pool.h"

#define SYNC_MS 2000

struct waiter {
	txn_done *done;
	void *ctx;
	struct waiter *next;
};

struct txn {
	struct engine *engine;
	struct wish *wishes;
	size_t n;
	struct actor who;
	struct plan plan;
	struct waiter *waiters; /* engine->lock */
	struct txn *next;	/* engine->lock: list of those queued or running */
};

struct engine {
	struct engine_conf conf;
	struct pool *pool;
	pthread_mutex_t lock;
	struct txn *txns; /* lock */
};

static const struct method *method_of(const struct txn *t, size_t i)
{
	return method_find(t->engine->conf.world.methods, t->wishes[i].file);
}

static unsigned int deadline(const struct engine *e, const struct verb *verb)
{
	double ms = verb->deadline_ms * e->conf.deadline_factor;

	return ms < 1 ? 1 : ms > 86400000 ? 86400000 : (unsigned int)ms;
}

static int observe(struct txn *t, struct err *err)
{
	const struct world *w = &t->engine->conf.world;
	int r = 0;

	for (size_t i = 0; i < t->n && !r; i++)
		r = w->observe(w->backend, &t->wishes[i].dev, err);
	return r;
}

static const struct wish *wish_for(const struct txn *t, const struct key *dev)
{
	for (size_t i = 0; i < t->n; i++)
		if (key_eq(&t->wishes[i].dev, dev))
			return &t->wishes[i];
	return NULL;
}

/* With the model locked. */
static void mark_busy(struct txn *t, struct model *m)
{
	for (size_t i = 0; i < t->plan.n_devices; i++) {
		struct device *d = model_edit(m, &t->plan.devices[i], false);
		const struct wish *own = wish_for(t, &t->plan.devices[i]);
		const struct wish *w = own ? own : &t->wishes[0];

		if (!d)
			continue;
		snprintf(d->busy, sizeof(d->busy), "%s %s", w->file, w->value[0] ? w->value : "none");
		d->busy_wish = own;
		d->busy_force = own && own->force;
	}
}

/* With the model locked. stuck: the sentence, "" for none, NULL to leave it as it is. */
static void mark_idle(struct txn *t, struct model *m, const char *stuck)
{
	for (size_t i = 0; i < t->plan.n_devices; i++) {
		struct device *d = model_edit(m, &t->plan.devices[i], false);

		if (!d)
			continue;
		d->busy[0] = '\0';
		d->busy_wish = d->busy_force = false;
		if (stuck)
			STR_COPY(d->stuck, stuck);
	}
}

/* Plans, and notes in memory that outlives us what is about to be done and how it was before. */
static int begin(struct txn *t, struct err *err)
{
	struct model *m = t->engine->conf.model;
	int r;

	model_lock(m);
	r = plan_make(m, t->engine->conf.world.methods, t->wishes, t->n, &t->plan, err);
	for (size_t i = 0; i < t->n && !r; i++)
		if (method_of(t, i)->prepare)
			r = method_of(t, i)->prepare(m, &t->wishes[i], err);
	if (!r && t->plan.n_steps)
		mark_busy(t, m);
	model_publish(m);
	model_unlock(m);
	return r;
}

static int run_steps(struct txn *t, struct err *err)
{
	struct engine *e = t->engine;

	for (size_t i = 0; i < t->plan.n_steps; i++) {
		struct step *s = &t->plan.steps[i];
		int r = s->verb->run(e->conf.world.backend, s, deadline(e, s->verb), err);

		if (r)
			return r;
		s->done = true;
	}
	return 0;
}

/* Takes the done steps back, the last one first. On failure stuck tells what stays. */
static int undo_steps(struct txn *t, struct err *stuck)
{
	struct engine *e = t->engine;
	int r = 0;

	for (size_t i = t->plan.n_steps; i-- > 0;) {
		struct step *s = &t->plan.steps[i];
		struct err why = { 0 };
		int u = 0;

		if (!s->done)
			continue;
		if (s->verb->undo)
			u = s->verb->undo(e->conf.world.backend, s, deadline(e, s->verb), &why);
		s->done = u; /* what could not be undone stays done */
		if (u && !r)
			r = fail(stuck, -u, "%s %s could not be taken back: %s", s->verb->name, s->dev.name,
				 why.text);
	}
	return r;
}

/* What the kernel holds now is what was asked; notes it. */
static int settle(struct txn *t, struct err *err)
{
	struct model *m = t->engine->conf.model;
	int r = observe(t, err);

	if (r)
		return r;
	model_lock(m);
	for (size_t i = 0; i < t->n && !r; i++)
		r = method_of(t, i)->settle(m, &t->wishes[i], err);
	if (!r)
		mark_idle(t, m, "");
	model_publish(m);
	model_unlock(m);
	return r;
}

static void end_idle(struct txn *t, const char *stuck)
{
	struct model *m = t->engine->conf.model;

	observe(t, NULL); /* a device that is gone meanwhile is no longer ours to mark */
	model_lock(m);
	mark_idle(t, m, stuck);
	model_publish(m);
	model_unlock(m);
}

static void tell_verdict(struct txn *t, const struct err *err)
{
	struct engine_conf *c = &t->engine->conf;

	if (c->verdict)
		c->verdict(c->verdict_ctx, t->wishes, t->n, &t->who, err);
}

/* Leaves the list, so that nobody joins any more, and answers all who wait. */
static void answer(struct txn *t, const struct err *err)
{
	struct engine *e = t->engine;
	struct waiter *w;
	struct txn **link;

	pthread_mutex_lock(&e->lock);
	for (link = &e->txns; *link && *link != t; link = &(*link)->next)
		;
	if (*link)
		*link = t->next;
	w = t->waiters;
	t->waiters = NULL;
	pthread_mutex_unlock(&e->lock);
	while (w) {
		struct waiter *next = w->next;

		w->done(w->ctx, err);
		free(w);
		w = next;
	}
}

static void txn_free(struct txn *t)
{
	plan_free(&t->plan);
	free(t->wishes);
	free(t);
}

/* A step that missed its deadline goes on in the kernel. Once it has ended, whichever way, the act is
 * taken back: who asked was told long ago that it failed. */
static void finish_late(struct txn *t, struct step *step)
{
	const struct world *w = &t->engine->conf.world;
	struct err stuck = { 0 };

	step->done = !w->late(w->backend, step);
	step->late = NULL;
	undo_steps(t, &stuck);
	end_idle(t, stuck.text);
	tell_verdict(t, stuck.code ? &stuck : &(struct err){ ETIMEDOUT, "the late step has ended and was undone" });
}

static struct step *late_step(struct txn *t)
{
	for (size_t i = 0; i < t->plan.n_steps; i++)
		if (t->plan.steps[i].late)
			return &t->plan.steps[i];
	return NULL;
}

static void mark_stuck(struct txn *t, const struct err *err)
{
	struct model *m = t->engine->conf.model;

	model_lock(m);
	for (size_t i = 0; i < t->plan.n_devices; i++) {
		struct device *d = model_edit(m, &t->plan.devices[i], false);

		if (d)
			snprintf(d->stuck, sizeof(d->stuck), "%.200s; it is undone once that ends", err->text);
	}
	model_publish(m);
	model_unlock(m);
}

/* The steps failed, or did not bring what was asked. Returns the step that is still in the kernel. */
static struct step *take_back(struct txn *t, struct err *err)
{
	struct step *late = late_step(t);
	struct err stuck = { 0 };

	if (late) {
		mark_stuck(t, err);
		return late;
	}
	if (undo_steps(t, &stuck))
		fail_wrap(err, "%.200s", stuck.text);
	end_idle(t, stuck.text);
	return NULL;
}

static void txn_run(void *ctx)
{
	struct txn *t = ctx;
	struct err err = { 0 };
	struct step *late = NULL;
	int r = observe(t, &err);

	if (!r)
		r = begin(t, &err);
	if (!r) {
		r = run_steps(t, &err);
		if (!r)
			r = settle(t, &err);
		if (r)
			late = take_back(t, &err);
	}
	tell_verdict(t, &err);
	model_sync(t->engine->conf.model, model_generation(t->engine->conf.model), SYNC_MS);
	answer(t, &err);
	if (late)
		finish_late(t, late);
	txn_free(t);
}

static struct txn *txn_new(struct engine *e, const struct wish *wishes, size_t n, const struct actor *who)
{
	struct txn *t = calloc(1, sizeof(*t));

	if (t)
		t->wishes = calloc(n ? n : 1, sizeof(*wishes));
	if (!t || !t->wishes) {
		free(t);
		return NULL;
	}
	memcpy(t->wishes, wishes, n * sizeof(*wishes));
	t->n = n;
	t->engine = e;
	t->who = *who;
	return t;
}

static bool same_wishes(const struct txn *t, const struct wish *wishes, size_t n)
{
	if (t->n != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!key_eq(&t->wishes[i].dev, &wishes[i].dev) || t->wishes[i].force != wishes[i].force ||
		    strcmp(t->wishes[i].file, wishes[i].file) || strcmp(t->wishes[i].value, wishes[i].value))
			return false;
	return true;
}

/* Puts the waiter to a transaction of the same wishes, or makes one. NULL: nothing left to start. */
static struct txn *join_or_make(struct engine *e, const struct wish *wishes, size_t n,
				const struct actor *who, struct waiter *w, bool *ret_failed)
{
	struct txn *t;

	pthread_mutex_lock(&e->lock);
	for (t = e->txns; t && !same_wishes(t, wishes, n); t = t->next)
		;
	if (t) {
		w->next = t->waiters;
		t->waiters = w;
		t = NULL;
	} else {
		t = txn_new(e, wishes, n, who);
		*ret_failed = !t;
		if (t) {
			t->waiters = w;
			t->next = e->txns;
			e->txns = t;
		}
	}
	pthread_mutex_unlock(&e->lock);
	return t;
}

void txn_submit(struct engine *e, const struct wish *wishes, size_t n, const struct actor *who,
		txn_done *done, void *ctx)
{
	struct waiter *w = malloc(sizeof(*w));
	struct err err = { ENOMEM, "no memory for a transaction" };
	bool failed = !w;
	struct txn *t = NULL;

	if (w) {
		*w = (struct waiter){ .done = done, .ctx = ctx };
		t = join_or_make(e, wishes, n, who, w, &failed);
	}
	if (failed) {
		free(w);
		done(ctx, &err);
		return;
	}
	if (t && pool_submit(e->pool, txn_run, t)) {
		fail(&err, EAGAIN, "no thread can be had to carry this out; try again");
		answer(t, &err);
		txn_free(t);
	}
}

struct deferred {
	struct engine *e;
	void (*job)(struct engine *e, void *ctx);
	void *ctx;
};

static void run_deferred(void *ctx)
{
	struct deferred d = *(struct deferred *)ctx;

	free(ctx);
	d.job(d.e, d.ctx);
}

int engine_defer(struct engine *e, void (*job)(struct engine *e, void *ctx), void *ctx)
{
	struct deferred *d = malloc(sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	*d = (struct deferred){ e, job, ctx };
	r = pool_submit(e->pool, run_deferred, d);
	if (r)
		free(d);
	return r;
}

const struct world *engine_world(const struct engine *e)
{
	return &e->conf.world;
}

struct model *engine_model(const struct engine *e)
{
	return e->conf.model;
}

int txn_check(struct engine *e, const struct wish *wishes, size_t n, struct out *o, struct err *err)
{
	struct plan plan = { 0 };
	int r;

	model_lock(e->conf.model);
	r = plan_make(e->conf.model, e->conf.world.methods, wishes, n, &plan, err);
	model_unlock(e->conf.model);
	if (!r)
		plan_print(&plan, o);
	plan_free(&plan);
	return r;
}

int engine_new(const struct engine_conf *conf, struct engine **ret, struct err *err)
{
	struct engine *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return fail(err, ENOMEM, "no memory for the engine");
	e->conf = *conf;
	r = pool_new(conf->threads, &e->pool, err);
	if (r) {
		free(e);
		return r;
	}
	pthread_mutex_init(&e->lock, NULL);
	*ret = e;
	return 0;
}

void engine_free(struct engine *e)
{
	if (!e)
		return;
	pool_free(e->pool);
	pthread_mutex_destroy(&e->lock);
	free(e);
}
