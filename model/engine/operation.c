// SPDX-License-Identifier: GPL-2.0-or-later
/* Runs a transaction: plan a stage, run its steps, observe, plan on; or undo everything. */
#include "operation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pcidevfs/model.h"
#include "pcidevfs/util.h"

unsigned int op_deadline(const struct engine *e, const struct verb *verb)
{
	double ms = verb->deadline_ms * e->conf.deadline_factor;

	return ms < 1 ? 1 : ms > 86400000 ? 86400000 : (unsigned int)ms;
}

static const struct request *request_for(const struct op_log *log, const struct key *dev)
{
	for (size_t i = 0; i < log->n_requests; i++)
		if (key_eq(&log->requests[i].dev, dev))
			return &log->requests[i];
	return &log->requests[0];
}

void op_say_busy(const struct op_log *log, struct device *d)
{
	const struct request *w = request_for(log, &d->key);

	snprintf(d->busy, sizeof(d->busy), "%.31s %.60s", w->file, w->value[0] ? w->value : "none");
}

static void *more(void *v, size_t n, size_t add, size_t size, struct err *err)
{
	void *p = reallocarray(v, n + add ? n + add : 1, size);

	if (!p)
		fail_nomem(err);
	return p;
}

bool op_remakes(const struct txn *t, const struct device *d)
{
	for (uint32_t i = 0; i < atomic_load(&t->log->n_steps); i++) {
		const struct step *s = &t->log->steps[i];

		if (s->begun && step_remakes(s, &d->facts.parent))
			return true;
	}
	return false;
}

/* Its index in the list; n_devices: not in it. */
static size_t device_at(const struct txn *t, const struct key *dev)
{
	size_t i = 0;

	while (i < t->n_devices && !key_eq(&t->devices[i], dev))
		i++;
	return i;
}

bool op_holds(const struct txn *t, const struct device *d)
{
	size_t i = device_at(t, &d->key);

	return i < t->n_devices && t->births[i] == d->birth;
}

/* A device that we made busy ourselves is no obstacle. */
static bool is_ours(const void *txn, const struct device *d)
{
	return op_holds(txn, d);
}

/* Call it with the model locked. */
static int refuse_busy(const struct txn *t, const struct plan *p, struct err *err)
{
	return plan_refuse_busy(model_of(t), p, t->marked ? is_ours : NULL, t, err);
}

/* Call it with the model locked. */
static int take_devices(struct txn *t, const struct key *devs, size_t n, struct err *err)
{
	struct key *devices = more(t->devices, t->n_devices, n, sizeof(*devices), err);
	uint64_t *births = devices ? more(t->births, t->n_devices, n, sizeof(*births), err) : NULL;
	size_t all = t->n_devices + n, reserved = all < PLAN_DEVICES ? all : PLAN_DEVICES;
	int r = births ? 0 : -ENOMEM;

	r = r ? r
	      : logs_reserve(&t->engine->logs, t->log->devices, reserved * sizeof(struct key), err);
	t->devices = devices ? devices : t->devices;
	t->births = births ? births : t->births;
	for (size_t i = 0; i < n && !r; i++) {
		const struct device *d = model_find(model_of(t), &devs[i]);
		size_t at = device_at(t, &devs[i]);

		/* An earlier stage may have replaced the device. */
		t->births[at] = d ? d->birth : 0;
		r = snapshot_add(t, &devs[i], err);
		if (at == t->n_devices)
			t->devices[t->n_devices++] = devs[i];
	}
	return r;
}

/* Call it with the model locked. */
static void mark_busy(struct txn *t)
{
	size_t n = t->n_devices < PLAN_DEVICES ? t->n_devices : PLAN_DEVICES;

	if (!t->marked && t->engine->running)
		atomic_fetch_add(t->engine->running, 1);
	t->marked = true;
	memcpy(t->log->devices, t->devices, n * sizeof(*t->devices));
	atomic_store(&t->log->n_devices, (uint32_t)n);
	for (size_t i = 0; i < t->n_devices; i++) {
		struct device *d = model_edit(model_of(t), &t->devices[i], false);

		if (d && op_holds(t, d))
			op_say_busy(t->log, d);
	}
}

bool op_still_there(struct txn *t, const struct key *dev)
{
	const struct device *d;
	bool there;

	model_lock(model_of(t));
	d = model_find(model_of(t), dev);
	there = d;
	for (size_t i = 0; i < t->n_devices && there; i++)
		if (key_eq(&t->devices[i], dev) && t->births[i])
			there = t->births[i] == d->birth;
	model_unlock(model_of(t));
	return there;
}

/* fn: the method's prepare or settle; NULL: it has none. */
static int call(struct model *m,
		int (*fn)(struct model *m, struct device *dev, const struct request *request,
			  struct err *err),
		const struct method *method, const struct request *request, struct err *err)
{
	struct device *dev = fn ? model_edit(m, &request->dev, false) : NULL;

	if (fn && !dev && (!method->foresee || method->brings))
		return fail(err, ENODEV, "%s is gone", request->dev.name);
	return fn ? fn(m, dev, request, err) : 0;
}

/* Calls the method's prepare or settle for every request. Call it with the model locked. */
static int each_request(struct txn *t, bool prepare, struct err *err)
{
	struct model *m = model_of(t);
	int r = 0;

	for (size_t i = 0; i < t->log->n_requests && !r; i++) {
		const struct method *method =
			method_find(t->engine->conf.world.methods, &t->log->requests[i]);
		struct request w;
		int absent = request_resolve(m, &t->log->requests[i], &w);

		if (absent && prepare)
			continue; /* nothing is known before it exists */
		if (satisfied_by_absence(t, &t->log->requests[i]))
			continue;
		if (absent) {
			char label[LINE_LABEL];

			request_label(&w, label);
			r = fail(err, ENODEV, "the device of %s is not there at the end", label);
		}
		r = r ? r : snapshot_add(t, &w.dev, err);
		r = r ? r : call(m, prepare ? method->prepare : method->settle, method, &w, err);
		err_blame(err, r, w.line);
	}
	return r;
}

static int append_steps(struct txn *t, const struct plan *p, struct err *err)
{
	struct op_log *log = t->log;
	uint32_t n = atomic_load(&log->n_steps);

	if (n + p->n_steps > PLAN_STEPS)
		return fail(err, E2BIG,
			    "this takes more than %d steps; split it into several transactions",
			    PLAN_STEPS);
	if (logs_reserve(&t->engine->logs, &log->steps[n], p->n_steps * sizeof(*p->steps), err))
		return -ENOMEM;
	if (p->n_steps)
		memcpy(&log->steps[n], p->steps, p->n_steps * sizeof(*p->steps));
	atomic_store(&log->n_steps, n + (uint32_t)p->n_steps);
	return 0;
}

/* Plans later stages from the present state: a refusal there would come after everything before was
 * done, and undo it. Reserves their devices. Call it with the model locked. */
static int foresee(struct txn *t, const struct request *requests, size_t n, struct err *err)
{
	struct plan p;
	int r = plan_make(model_of(t), t->engine->conf.world.methods, requests, n, true, &p, err);

	r = r ? r : refuse_busy(t, &p, err);
	r = r ? r : take_devices(t, p.devices, p.n_devices, err);
	plan_free(&p);
	return r;
}

/* Plans what can be planned now, and takes its devices. */
static int plan_stage(struct txn *t, bool *ret_more, struct err *err)
{
	_free_ struct request *requests = calloc(t->log->n_requests, sizeof(*requests));
	struct model *m = model_of(t);
	struct plan p;
	size_t n = 0;
	int r;

	if (!requests)
		return fail_nomem(err);
	model_lock(m);
	for (size_t i = 0; i < t->log->n_requests; i++)
		if (!satisfied_by_absence(t, &t->log->requests[i]) &&
		    !satisfied_once(t, &t->log->requests[i]))
			requests[n++] = t->log->requests[i];
	r = plan_make(m, t->engine->conf.world.methods, requests, n, false, &p, err);
	r = r ? r : refuse_busy(t, &p, err);
	r = r ? r : take_devices(t, p.devices, p.n_devices, err);
	r = r || !p.more ? r : foresee(t, requests, n, err);
	r = r ? r : each_request(t, true, err);
	r = r ? r : append_steps(t, &p, err);
	if (!r && atomic_load(&t->log->n_steps))
		mark_busy(t);
	model_publish(m);
	model_unlock(m);
	*ret_more = p.more;
	plan_free(&p);
	return r;
}

/* What the steps change must be known to the next process before the first one runs. */
static int learn_steps(struct txn *t, uint32_t from, bool begins, struct err *err)
{
	struct engine *e = t->engine;
	uint32_t n = atomic_load(&t->log->n_steps);

	for (uint32_t i = from; i < n; i++) {
		struct step *s = &t->log->steps[i];
		int r = s->verb->learn ? s->verb->learn(e->conf.world.backend, s,
							op_deadline(e, s->verb), err)
				       : 0;

		if (r)
			return err_blame(err, r, s->line);
	}
	if (n > from) {
		model_lock(model_of(t));
		snapshot_note(t);
		model_unlock(model_of(t));
	}
	return n > from && begins ? op_keep(t, true, err) : 0;
}

static int note_requests(struct txn *t, struct err *err)
{
	struct model *m = model_of(t);
	int r = 0;

	model_lock(m);
	/* nothing kept others away */
	for (size_t i = 0; i < t->n_devices && !r && !t->marked; i++)
		r = plan_refuse_busy_device(m, &t->devices[i], NULL, NULL, err);
	if (!r) {
		snapshot_begin(t);
		r = each_request(t, false, err);
		model_publish(m);
		snapshot_end(t);
	}
	model_unlock(m);
	return r;
}

/* If nobody was kept away, notes are undone at once. */
static void forget_notes(struct txn *t)
{
	struct model *m = model_of(t);

	model_lock(m);
	snapshot_put_back(t);
	model_publish(m);
	model_unlock(m);
}

static int note_and_keep(struct txn *t, struct err *err)
{
	pthread_mutex_t *settling = op_keeps(t) ? &t->engine->settling : NULL;
	int r;

	if (settling)
		pthread_mutex_lock(settling);
	r = note_requests(t, err);
	r = r ? r : op_keep(t, false, err);
	if (r && !t->marked)
		forget_notes(t);
	if (settling)
		pthread_mutex_unlock(settling);
	return r;
}

/* The kernel holds what was requested: notes it in the model and stores it. */
static int settle(struct txn *t, struct err *err)
{
	struct model *m = model_of(t);
	int r;

	r = note_and_keep(t, err);
	if (r)
		return r;
	/* From here on nothing of it is undone: it is stored. */
	t->log->err = (struct err){ 0 };
	atomic_store(&t->log->state, LOG_DECIDED);
	model_lock(m);
	err->idle = snapshot_is_idle(t);
	op_leave_devices(t, NULL);
	/* Also if no step was needed: it holds, so it is not stuck. */
	for (uint32_t i = 0; i < atomic_load(&t->log->n_snapshots); i++) {
		const struct key *dev = &t->log->snapshots[i].dev;
		struct device *d = model_edit(m, dev, false);

		if (!d || d->busy[0] || op_noted_only(t, dev))
			continue;
		d->stuck[0] = '\0';
		logs_settled(&t->engine->logs, dev);
	}
	model_publish(m);
	model_unlock(m);
	return 0;
}

/* An operation that has begun is completed even if its writer has gone. */
static int heed_interrupt(struct txn *t, uint32_t steps_before, struct err *err)
{
	if (steps_before || !txn_forsaken(t))
		return 0;
	return fail(err, EINTR,
		    "%s of %s was interrupted before its first step, and nothing was done; write again",
		    t->log->requests[0].file, t->log->requests[0].dev.name);
}

/* Devices that are new since the request, or made anew, have an owner and a group now. */
static int ask_rights(struct txn *t, struct err *err)
{
	const struct engine_conf *c = &t->engine->conf;
	int r = 0;

	for (size_t i = 0; i < t->log->n_requests && c->may && !r; i++) {
		const struct request *asked = &t->log->requests[i];
		const struct device *dev;
		struct request w;
		bool came;

		model_lock(c->model);
		dev = request_resolve(c->model, asked, &w) ? NULL : model_find(c->model, &w.dev);
		came = dev && !asked->restores && (request_parent(asked) || op_remakes(t, dev));
		model_unlock(c->model);
		if (came)
			r = err_blame(err, c->may(c->verdict_ctx, &w, &t->log->who, err), w.line);
	}
	return r;
}

static int run_stages(struct txn *t, struct err *err)
{
	const struct op_log *log = t->log;
	bool left = true;

	for (int stage = 0; left; stage++) {
		uint32_t from = atomic_load(&log->n_steps);
		bool fresh = !stage && !t->recovered; /* busy devices are another one's */
		int r = fresh ? op_refuse_early(t->engine, log->requests, log->n_requests, err) : 0;

		r = r ? r : op_look(t->engine, log->requests, log->n_requests, &t->guarded_at, err);
		if (!r && stage == STAGES)
			r = fail(err, EIO, "%s of %s does not end",
				 log->requests[0].file, log->requests[0].dev.name);
		r = r ? r : plan_stage(t, &left, err);
		r = r ? r : ask_rights(t, err);
		r = r ? r : learn_steps(t, from, fresh, err);
		r = r ? r : heed_interrupt(t, from, err);
		r = r ? r : op_run_steps(t, from, err);
		if (r)
			return r;
		if (!left && atomic_load(&log->n_steps) > from)
			r = op_look(t->engine, log->requests, log->n_requests, NULL, err);
		if (r)
			return r;
	}
	return settle(t, err);
}

/* A former process's helper may still be at work: wait until it has ended. */
static struct step *await_former(struct txn *t, struct err *err)
{
	const struct engine *e = t->engine;

	for (uint32_t i = 0; i < atomic_load(&t->log->n_steps) && e->conf.world.await; i++) {
		struct step *s = &t->log->steps[i];

		if (e->conf.world.await(e->conf.world.backend, s, op_deadline(e, s->verb)) !=
		    -ETIMEDOUT)
			continue;
		err_blame(err,
			  fail(err, ETIMEDOUT, "%s of %s did not end in time", s->verb->name,
			       s->dev.name),
			  s->line);
		return s;
	}
	return NULL;
}

/* Takes over the devices of a former process's operation. */
static void adopt_devices(struct txn *t)
{
	struct model *m = model_of(t);
	uint32_t n = atomic_load(&t->log->n_devices);

	model_lock(m);
	snapshot_adopt(t);
	take_devices(t, t->log->devices, n < PLAN_DEVICES ? n : PLAN_DEVICES, NULL);
	mark_busy(t);
	model_publish(m);
	model_unlock(m);
}

struct step *op_run(struct txn *t, struct err *err)
{
	struct step *late = NULL;

	if (t->recovered && atomic_load(&t->log->n_devices)) {
		adopt_devices(t);
		late = await_former(t, err);
	}
	/* The verdict of a late operation was already told. */
	if (atomic_load(&t->log->state) == LOG_UNDOES) {
		*err = t->log->err;
	} else if (!late && !run_stages(t, err)) {
		return NULL;
	} else {
		t->log->err = *err;
		atomic_store(&t->log->state, LOG_UNDOES);
	}
	if (!late)
		late = op_late_step(t);
	if (late) {
		op_mark_stuck(t, err->text);
		return late;
	}
	if (t->log->was_late)
		op_mark_stuck(t, NULL);
	return op_take_back(t, err);
}

/* A late step goes on in the kernel. When it has ended, in any way, the operation is undone: the
 * writer was told long ago that it failed. A late undo continues where it stopped. */
void op_finish_late(struct txn *t, struct step *late, struct err *verdict)
{
	const struct engine_world *w = &t->engine->conf.world;

	while (late) {
		bool undo = late->done;

		txn_wait_late(t, late);
		late->done = !w->late(w->backend, late) || undo;
		late->late = NULL;
		fail(verdict, ETIMEDOUT,
		     undo ? "the late undo of %s %s has ended, and the rest was undone"
			  : "the late %s of %s has ended and was undone",
		     late->verb->name, late->dev.name);
		err_blame(verdict, verdict->code, late->line);
		op_mark_stuck(t, NULL);
		/* Other lanes may have late steps too. */
		late = op_late_step(t);
		late = late ? late : op_take_back(t, verdict);
	}
}
