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

/* ---- on executors */

static void txn_run(void *txn);

struct turn {
	struct engine *e;
	struct creds who;
	void (*run)(void *ctx);
	void *ctx;
	struct txn *then; /* goes on in it */
};

static struct pool *pool_of(struct engine *e, const struct creds *who)
{
	return who->reserve ? e->pool : e->others;
}

static void no_longer_waits(struct turn *turn)
{
	pthread_mutex_lock(&turn->e->lock);
	quota_give(&turn->e->waiting, &turn->who, 1);
	pthread_mutex_unlock(&turn->e->lock);
}

static void take_turn(void *ctx)
{
	struct turn turn = *(struct turn *)ctx;

	free(ctx);
	no_longer_waits(&turn);
	pthread_setspecific(turn.e->here, &turn);
	turn.run(turn.ctx);
	pthread_setspecific(turn.e->here, NULL);
	if (turn.then)
		txn_run(turn.then);
}

int engine_defer(struct engine *e, const struct actor *who, void (*run)(void *ctx), void *ctx)
{
	struct turn *turn = malloc(sizeof(*turn));
	int r;

	if (!turn)
		return -ENOMEM;
	*turn = (struct turn){ .e = e, .who = who->opener, .run = run, .ctx = ctx };
	pthread_mutex_lock(&e->lock);
	r = quota_take(&e->waiting, &turn->who, 1, NULL);
	pthread_mutex_unlock(&e->lock);
	if (r) {
		free(turn);
		return r == -ENOMEM ? r : -EDQUOT;
	}
	r = pool_submit(pool_of(e, &who->opener), take_turn, turn);
	if (r) {
		no_longer_waits(turn);
		free(turn);
	}
	return r;
}

/* Resumed operations run, whoever began them. */
static const struct actor *runner(const struct txn *t)
{
	static const struct actor ours = { .opener.reserve = true };

	return t->recovered ? &ours : &t->log->who;
}

/* ---- who waits */

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

/* Answers all who wait; nobody joins any more. */
static void answer(struct txn *t, const struct err *err)
{
	struct engine *e = t->engine;
	struct waiter *w;

	pthread_mutex_lock(&e->lock);
	t->answered = true;
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
	t->late_undo = late && late->done;
	pthread_mutex_unlock(&t->engine->lock);
}

/* Its thread waits without a deadline, so it no longer counts. */
static void finish_late(struct txn *t, struct step *late, struct err *err)
{
	struct pool *pool = pool_of(t->engine, &runner(t)->opener);

	txn_wait_late(t, late);
	pool_blocked(pool, true);
	op_finish_late(t, late, err);
	pool_blocked(pool, false);
	txn_wait_late(t, NULL);
}

static void txn_free(struct txn *t)
{
	struct txn **link = &t->engine->txns;

	pthread_mutex_lock(&t->engine->lock);
	while (*link != t)
		link = &(*link)->next;
	*link = t->next;
	pthread_mutex_unlock(&t->engine->lock);
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

static void txn_run(void *ctx)
{
	struct txn *t = ctx;
	struct engine *e = t->engine;
	struct err err = t->log->err;
	struct step *late = NULL;

	pthread_setspecific(e->here, NULL); /* it may be late: nothing waits behind it */
	if (!keep_log(t, &err) && atomic_load(&t->log->state) != LOG_DECIDED)
		late = op_run(t, &err);
	t->log->err = err;
	if (late)
		tell(t);
	else
		tell_verdict(t);
	model_sync(e->conf.model, model_generation(e->conf.model), SYNC_MS);
	answer(t, &err);
	if (late) {
		finish_late(t, late, &err);
		t->log->err = err;
		t->log->place = 0;
		tell_verdict(t);
	}
	txn_free(t);
}

/* Call it with the lock held. */
static struct txn *txn_new(struct engine *e, struct op_log *log, bool recovered)
{
	struct txn *t = log ? calloc(1, sizeof(*t)) : NULL;

	if (t) {
		*t = (struct txn){
			.engine = e, .log = log, .recovered = recovered, .next = e->txns
		};
		e->txns = t;
	} else if (log && !recovered) {
		logs_give(&e->logs, log, false);
	}
	return t;
}

/* Finds the transaction of this very request, sent again. Call it with the lock held. */
static struct txn *find_own(struct engine *e, const struct request *requests, size_t n,
			    const struct actor *who)
{
	struct txn *t = who->tag ? e->txns : NULL;

	while (t &&
	       (t->answered || t->log->who.tag != who->tag || !log_is_for(t->log, requests, n)))
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
		t = *ret_new = n ? txn_new(e, logs_new(requests, n, who), false) : NULL;
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

/* An operation of a job without a reserve goes on in its turn: else it would wait behind all others
 * twice. */
static bool goes_on_here(struct txn *t)
{
	struct turn *turn = pthread_getspecific(t->engine->here);
	bool here = turn && !turn->then && !turn->who.reserve && !runner(t)->opener.reserve;

	if (here)
		turn->then = t;
	return here;
}

static void start(struct txn *t)
{
	struct err err = { 0 };
	int r = goes_on_here(t) ? 0 : engine_defer(t->engine, runner(t), txn_run, t);

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
		fail(&err, E2BIG, "a transaction has at most %d requests, this one %zu",
		     LOG_REQUESTS, n);
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
	struct txn *t;

	pthread_mutex_lock(&e->lock);
	t = txn_new(e, log, true);
	pthread_mutex_unlock(&e->lock);
	if (t) {
		start(t);
		return;
	}
	op_lose(e, log, "there is no memory for it");
	logs_give(&e->logs, log, true);
}

const struct engine_world *engine_world(const struct engine *e)
{
	return &e->conf.world;
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
	e->waiting = (struct quota){ .of_user = WAITING_OF_USER, .of_all = WAITING_OF_ALL };
	r = pool_new(conf->threads - conf->threads / 4, &e->pool, err);
	r = r ? r : pool_new(conf->threads / 4, &e->others, err);
	if (!r && pthread_key_create(&e->here, NULL))
		r = fail_nomem(err);
	if (r) {
		if (e->others)
			pool_free(e->others);
		if (e->pool)
			pool_free(e->pool);
		free(e);
		return r;
	}
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
		acts = (!t->answered || t->late) && acts_on(e, t->log, dev);
	pthread_mutex_unlock(&e->lock);
	return acts;
}

bool engine_idle(struct engine *e)
{
	bool idle = true;

	pthread_mutex_lock(&e->lock);
	for (const struct txn *t = e->txns; t; t = t->next)
		idle &= t->answered;
	pthread_mutex_unlock(&e->lock);
	return idle;
}

static void print_lates(struct engine *e, struct out *o)
{
	pthread_mutex_lock(&e->lock);
	for (const struct txn *t = e->txns; t; t = t->next)
		if (t->late)
			out_printf(o,
				   "%s%s of %s still hangs in the kernel; it is left so, and the "
				   "steps before it are not undone\n",
				   t->late_undo ? "the undo of " : "", t->late->verb->name,
				   t->late->dev.name);
	pthread_mutex_unlock(&e->lock);
}

bool engine_end(struct engine *e, struct out *left)
{
	bool all = !e || pool_end(e->others);

	all &= !e || pool_end(e->pool);
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
	pool_free(e->others);
	pthread_key_delete(e->here);
	quota_free(&e->waiting);
	pthread_mutex_destroy(&e->logs.lock);
	pthread_mutex_destroy(&e->lock);
	pthread_mutex_destroy(&e->settling);
	free(e);
	return leaves;
}
