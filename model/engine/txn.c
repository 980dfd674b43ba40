// SPDX-License-Identifier: GPL-2.0-or-later
/* Transactions from outside: who submits, who waits, what the verdict is. */
#include "pcidevfs/txn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "operation.h"
#include "pcidevfs/model.h"
#include "pcidevfs/pool.h"
#include "pcidevfs/util.h"

#define SYNC_MS 2000

/* After a crash the writer of a recovered operation may still ask again. */
bool txn_forsaken(struct txn *t)
{
	bool wanted;

	pthread_mutex_lock(&t->engine->lock);
	wanted = !t->waiters;
	for (const struct waiter *w = t->waiters; w; w = w->next)
		wanted |= !w->interrupted;
	pthread_mutex_unlock(&t->engine->lock);
	return !wanted;
}

static void tell(struct txn *t)
{
	struct engine_conf *c = &t->engine->conf;

	if (c->verdict)
		c->verdict(c->verdict_ctx, t->log->requests, t->log->n_requests, &t->log->who,
			   &t->log->err, &t->log->place);
}

/* From here on a process that dies leaves a verdict to be told and answered, not an operation. */
static void tell_verdict(struct txn *t)
{
	atomic_store(&t->log->state, LOG_DECIDED);
	tell(t);
	atomic_store(&t->log->state, log_is_stuck(t->log) ? LOG_STUCK : LOG_ENDED);
}

/* Removes it from the list, so that nobody joins any more, and answers all who wait. */
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

void txn_wait_late(struct txn *t, const struct step *late)
{
	pthread_mutex_lock(&t->engine->lock);
	t->late = late;
	t->late_undo = late->done;
	pthread_mutex_unlock(&t->engine->lock);
}

/* Its thread waits without a deadline, so it no longer counts. */
static void finish_late(struct txn *t, struct step *late, struct err *err)
{
	struct engine *e = t->engine;
	struct txn **link;

	txn_wait_late(t, late);
	pthread_mutex_lock(&e->lock);
	t->next = e->lates;
	e->lates = t;
	pthread_mutex_unlock(&e->lock);
	pool_blocked(e->pool, true);
	turn_yield(t->turn);
	op_finish_late(t, late, err);
	pool_blocked(e->pool, false);
	pthread_mutex_lock(&e->lock);
	for (link = &e->lates; *link != t; link = &(*link)->next)
		;
	*link = t->next;
	pthread_mutex_unlock(&e->lock);
}

static void txn_free(struct txn *t)
{
	if (t->marked && t->engine->running)
		atomic_fetch_sub(t->engine->running, 1);
	logs_give(&t->engine->logs, t->log, t->recovered && !t->log->orphan);
	free(t->devices);
	free(t->births);
	free(t);
}

/* There are as many slots as executors; operations that hang in the kernel have one too. */
static int keep_log(struct txn *t, struct err *err)
{
	struct op_log *kept = t->log;

	pthread_mutex_lock(&t->engine->lock); /* others search it for their own requests */
	if (!t->recovered)
		kept = logs_keep(&t->engine->logs, t->log, err);
	t->log = kept ? kept : t->log;
	pthread_mutex_unlock(&t->engine->lock);
	return kept ? 0 : -EAGAIN;
}

static void txn_run(void *ctx, struct turn *turn)
{
	struct txn *t = ctx;
	struct err err = t->log->err;
	struct step *late = NULL;

	t->turn = turn;
	if (!keep_log(t, &err) && atomic_load(&t->log->state) != LOG_DECIDED)
		late = op_run(t, &err);
	t->log->err = err;
	if (late)
		tell(t);
	else
		tell_verdict(t);
	model_sync(t->engine->conf.model, model_generation(t->engine->conf.model), SYNC_MS);
	answer(t, &err);
	if (late) {
		finish_late(t, late, &err);
		t->log->err = err;
		t->log->place = 0;
		tell_verdict(t);
	}
	txn_free(t);
}

static struct txn *txn_new(struct engine *e, struct op_log *log)
{
	struct txn *t = log ? calloc(1, sizeof(*t)) : NULL;

	if (t) {
		t->engine = e;
		t->log = log;
	}
	return t;
}

/* Call it with the lock held. */
static struct txn *make(struct engine *e, const struct request *requests, size_t n,
			const struct actor *who)
{
	struct op_log *log = logs_new(requests, n, who);
	struct txn *t = txn_new(e, log);

	if (!t) {
		if (log)
			logs_give(&e->logs, log, false);
		return NULL;
	}
	t->next = e->txns;
	e->txns = t;
	return t;
}

/* Finds the transaction of this very request, sent again. Call it with the lock held. */
static struct txn *find_own(struct engine *e, const struct request *requests, size_t n,
			    const struct actor *who)
{
	struct txn *t = who->tag ? e->txns : NULL;

	while (t && !(t->log->who.tag == who->tag && log_is_for(t->log, requests, n)))
		t = t->next;
	return t;
}

/* Adds the waiter to the transaction of this very request, or to a new one: *ret_new. False: the
 * request has its verdict (err, also with code 0), or no memory (ENOMEM). */
static bool find_or_make(struct engine *e, const struct request *requests, size_t n,
			 const struct actor *who, struct waiter *w, struct txn **ret_new,
			 struct err *err)
{
	struct txn *t;

	*ret_new = NULL;
	pthread_mutex_lock(&e->lock);
	t = find_own(e, requests, n, who);
	if (!t && !logs_verdict(&e->logs, requests, n, who, err)) {
		t = *ret_new = n ? make(e, requests, n, who) : NULL;
		if (!n)
			fail(err, ECONNRESET, "the daemon was restarted; begin again");
		else if (!t)
			fail_nomem(err);
	}
	if (t) {
		w->next = t->waiters;
		t->waiters = w;
	}
	pthread_mutex_unlock(&e->lock);
	return t;
}

void engine_refuse(int r, const struct actor *who, struct err *err)
{
	if (r == -EDQUOT)
		fail(err, EAGAIN,
		     "user %u has as many operations waiting as one user may have; try again when "
		     "some have ended",
		     (unsigned int)who->opener.uid);
	else
		fail(err, EAGAIN,
		     r == -ESHUTDOWN ? "pcidevfsd is ending; try again"
				     : "no thread is available for this; try again");
}

static void start(struct txn *t)
{
	struct err err = { 0 };
	/* Resumed operations run, whoever began them. */
	const struct actor ours = { .opener.reserve = true };
	int r = turns_submit(&t->engine->turns, t->recovered ? &ours : &t->log->who, txn_run, t);

	if (!r)
		return;
	engine_refuse(r, &t->log->who, &err);
	if (t->recovered) {
		op_lose(t->engine, t->log, "no thread is available for it");
		err = t->log->err;
	}
	answer(t, &err);
	txn_free(t);
}

void txn_submit(struct engine *e, const struct request *requests, size_t n, const struct actor *who,
		txn_done *done, void *ctx)
{
	struct err err = { 0 };
	struct waiter *w;
	struct txn *t;

	if (n > LOG_REQUESTS)
		fail(&err, E2BIG, "a transaction has at most %d requests, this one %zu", LOG_REQUESTS,
		     n);
	w = err.code ? NULL : malloc(sizeof(*w));
	if (w)
		*w = (struct waiter){ .done = done, .ctx = ctx, .who = *who };
	else if (!err.code)
		fail_nomem(&err);
	if (!w || !find_or_make(e, requests, n, who, w, &t, &err)) {
		free(w);
		done(ctx, &err);
		return;
	}
	if (t)
		start(t);
}

void txn_interrupt(struct engine *e, uint64_t tag)
{
	pthread_mutex_lock(&e->lock);
	for (struct txn *t = e->txns; t; t = t->next)
		for (struct waiter *w = t->waiters; w; w = w->next)
			w->interrupted |= !((w->who.tag ^ tag) & ACTOR_REQUEST);
	pthread_mutex_unlock(&e->lock);
}

void txn_resume(struct engine *e, struct op_log *log)
{
	struct txn *t = txn_new(e, log);

	if (!t) {
		op_lose(e, log, "there is no memory for it");
		logs_give(&e->logs, log, true);
		return;
	}
	t->recovered = true;
	pthread_mutex_lock(&e->lock);
	t->next = e->txns;
	e->txns = t;
	pthread_mutex_unlock(&e->lock);
	start(t);
}

struct deferred {
	struct engine *e;
	void (*job)(struct engine *e, void *ctx);
	void *ctx;
};

static void run_deferred(void *ctx, struct turn *turn)
{
	struct deferred d = *(struct deferred *)ctx;

	(void)turn;
	free(ctx);
	d.job(d.e, d.ctx);
}

int engine_defer(struct engine *e, const struct actor *who,
		 void (*job)(struct engine *e, void *ctx), void *ctx)
{
	struct deferred *d = malloc(sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	*d = (struct deferred){ e, job, ctx };
	r = turns_submit(&e->turns, who, run_deferred, d);
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

int txn_check(struct engine *e, const struct request *requests, size_t n, struct out *o,
	      struct err *err)
{
	struct model *m = e->conf.model;
	_Atomic uint64_t guarded_at;
	struct plan plan;
	int r = op_look(e, requests, n, &guarded_at, err);

	if (r)
		return r;
	model_lock(m);
	r = plan_make(m, e->conf.world.methods, requests, n, true, &plan, err);
	r = r ? r : plan_refuse_busy(m, &plan, NULL, NULL, err);
	model_unlock(m);
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
		return fail_nomem(err);
	e->conf = *conf;
	r = pool_new(conf->threads, &e->pool, err);
	if (r) {
		free(e);
		return r;
	}
	turns_init(&e->turns, e->pool);
	logs_open(&e->logs, &e->conf.journal);
	pthread_mutex_init(&e->settling, NULL);
	pthread_mutex_init(&e->lock, NULL);
	*ret = e;
	return 0;
}

static bool acts_on(const struct engine *e, const struct op_log *log, const struct device *dev)
{
	uint32_t n = atomic_load(&log->n_devices); /* 0: it may still be refused */
	bool acts = false;

	for (uint32_t i = 0; i < n && !acts; i++)
		acts = key_eq(&log->devices[i], &dev->key);
	for (uint32_t i = 0; i < log->n_requests && n && !acts; i++) {
		const struct request *w = &log->requests[i];
		const struct method *method = method_find(e->conf.world.methods, w);

		acts = method && !method->noted &&
		       (w->child ? w->child == dev->facts.index + 1 &&
					   key_eq(&w->dev, &dev->facts.parent)
				 : key_eq(&w->dev, &dev->key));
	}
	return acts && !log->requests[0].restores;
}

bool engine_acts(struct engine *e, const struct device *dev)
{
	bool acts = false;

	if (!e)
		return false;
	pthread_mutex_lock(&e->lock);
	for (const struct txn *t = e->txns; t && !acts; t = t->next)
		acts = acts_on(e, t->log, dev);
	for (const struct txn *t = e->lates; t && !acts; t = t->next)
		acts = acts_on(e, t->log, dev);
	pthread_mutex_unlock(&e->lock);
	return acts;
}

bool engine_idle(struct engine *e)
{
	bool idle;

	pthread_mutex_lock(&e->lock);
	idle = !e->txns;
	pthread_mutex_unlock(&e->lock);
	return idle;
}

static void print_lates(struct engine *e, struct out *o)
{
	pthread_mutex_lock(&e->lock);
	for (const struct txn *t = e->lates; t; t = t->next)
		out_printf(
			o,
			"%s%s of %s still hangs in the kernel; it is left so, and the steps before "
			"it are not undone\n",
			t->late_undo ? "the undo of " : "", t->late->verb->name, t->late->dev.name);
	pthread_mutex_unlock(&e->lock);
}

bool engine_end(struct engine *e, struct out *left)
{
	bool all = !e || pool_end(e->pool);

	if (!all && left)
		print_lates(e, left);
	return all;
}

bool engine_free(struct engine *e)
{
	bool leaves = false;

	if (!e)
		return false;
	for (size_t i = 0; i < logs_used(&e->logs); i++)
		leaves |= atomic_load(&e->logs.slots[i].state) != LOG_FREE &&
			  atomic_load(&e->logs.slots[i].state) != LOG_ENDED;
	pool_free(e->pool);
	turns_destroy(&e->turns);
	pthread_mutex_destroy(&e->logs.lock);
	pthread_mutex_destroy(&e->lock);
	pthread_mutex_destroy(&e->settling);
	free(e);
	return leaves;
}
