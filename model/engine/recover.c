// SPDX-License-Identifier: GPL-2.0-or-later
/* Continues or undoes operations of a process that was killed. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "operation.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"

static const struct verb *find_verb(const struct engine *e, const char *name)
{
	const struct verb *const *v = e->conf.world.verbs;
	char own[VERB_NAME];

	for (; v && *v; v++) {
		verb_name(*v, own);
		if (!strcmp(own, name))
			return *v;
	}
	return NULL;
}

/* A verb of another version is unknown: its effect stays, and an undo says so. */
static int undo_unknown(void *backend, struct step *step, unsigned int deadline_ms, struct err *err)
{
	(void)backend;
	(void)deadline_ms;
	return fail(
		err, EOPNOTSUPP,
		"another version of this program did this step (%s), and this version cannot undo "
		"it; check %s and write again",
		step->verb_name, step->dev.name);
}

static const struct verb unknown_verb = { .name = "a step",
					  .deadline_ms = 10000,
					  .undo = undo_unknown };

/* A step that had begun may have been done. Undoing a step that never happened has no effect, if
 * the former state is known. A step without undo counts as done only if that is known. */
static bool maybe_done(const struct step *s, bool running)
{
	return s->done || s->late ||
	       (running && s->verb->undo && (s->recorded || !s->verb->records));
}

/* Sets the steps' pointers for this process. Steps that had not begun are planned anew; those between
 * begun ones of other lanes stay in the list, not done. True: one of them was late. */
static bool adopt_steps(struct engine *e, struct op_log *log)
{
	bool late = false;
	uint32_t n = 0;

	for (uint32_t i = 0; i < atomic_load(&log->n_steps); i++) {
		struct step *s = &log->steps[i];

		s->verb_name[sizeof(s->verb_name) - 1] = '\0';
		s->verb = find_verb(e, s->verb_name);
		s->verb = s->verb ? s->verb : &unknown_verb;
		s->done = s->begun && maybe_done(s, atomic_load(&log->state) == LOG_RUNS);
		late |= s->late != NULL;
		s->late = NULL;
		if (s->begun)
			n = i + 1;
	}
	atomic_store(&log->n_steps, n);
	return late;
}

static bool readable(const struct op_log *log)
{
	return atomic_load(&log->state) <= LOG_DECIDED && log->n_requests &&
	       log->n_requests <= LOG_REQUESTS && atomic_load(&log->n_steps) <= PLAN_STEPS &&
	       atomic_load(&log->n_devices) <= PLAN_DEVICES &&
	       atomic_load(&log->n_snapshots) <= PLAN_DEVICES;
}

/* Must its devices be resumed? */
static bool holds_devices(const struct op_log *log)
{
	uint32_t state = atomic_load(&log->state);

	return readable(log) && (state == LOG_RUNS || state == LOG_UNDOES);
}

/* Keeps the devices busy until the operation has them again, which may have to wait for a thread:
 * nobody takes them meanwhile, and their records stay pending. Call it with the model locked. */
static void hold_devices(struct model *m, const struct op_log *log)
{
	uint32_t n = holds_devices(log) ? atomic_load(&log->n_devices) : 0;

	for (uint32_t i = 0; i < n; i++) {
		struct device *d = model_edit(m, &log->devices[i], false);

		if (d)
			op_say_busy(log, d);
	}
}

/* Nothing runs now, so busy devices were left so, except those of operations to be resumed. */
static void clear_busy(struct engine *e)
{
	struct model *m = e->conf.model;
	const struct device *found;
	size_t pos = 0;

	model_lock(m);
	while ((found = model_next(m, &pos))) {
		struct key key = found->key;

		if (found->busy[0])
			model_edit(m, &key, false)->busy[0] = '\0';
	}
	for (size_t i = 0; i < logs_used(&e->logs); i++)
		hold_devices(m, &e->logs.slots[i]);
	model_publish(m);
	model_unlock(m);
}

static void mark_lost(struct model *m, const struct op_log *log, const char *why)
{
	uint32_t n = atomic_load(&log->n_devices);

	model_lock(m);
	for (uint32_t i = 0; i < n && i < PLAN_DEVICES; i++) {
		struct device *d = model_edit(m, &log->devices[i], false);

		if (d && holds_devices(log))
			d->busy[0] = '\0';
		if (d)
			snprintf(d->stuck, sizeof(d->stuck), "%.160s; check %s and write again",
				 why, d->key.name);
	}
	model_publish(m);
	model_unlock(m);
}

/* In the name of the writer; if that cannot be read, in ours, about the operation's first
 * device. */
static void tell_lost(struct engine *e, struct op_log *log, bool known)
{
	const struct actor self = { .pid = getpid(), .comm = "pcidevfsd", .opener.reserve = true };
	const struct request stand_in = { .dev = log->devices[0], .file = "restart" };

	if (e->conf.verdict && (known || atomic_load(&log->n_devices)))
		e->conf.verdict(e->conf.verdict_ctx, known ? log->requests : &stand_in,
				known ? log->n_requests : 1, known ? &log->who : &self, &log->err,
				&log->place);
}

void op_lose(struct engine *e, struct op_log *log, const char *cause)
{
	const char *name =
		atomic_load(&log->n_devices) ? log->devices[0].name : "an unknown device";
	bool known = readable(log);
	struct err why = { 0 };

	fail(&why, EIO, "%s of %s was interrupted by a restart and cannot be resumed: %s",
	     known ? log->requests[0].file : "an operation", known ? log->requests[0].dev.name : name,
	     cause);
	mark_lost(e->conf.model, log, why.text);
	log->err = why;
	tell_lost(e, log, known);
	atomic_store(&log->state, LOG_ENDED);
	pthread_mutex_lock(&e->lock);
	e->n_lost++;
	e->lost = why;
	pthread_mutex_unlock(&e->lock);
}

void engine_health(struct engine *e, struct out *o)
{
	pthread_mutex_lock(&e->lock);
	if (e->n_lost) {
		out_printf(o, "acts=lost count=%u", e->n_lost);
		out_pair(o, "hint", e->lost.text);
		out_put(o, "\n", 1);
	}
	pthread_mutex_unlock(&e->lock);
}

static void resume(struct engine *e, struct op_log *log)
{
	if (!readable(log)) {
		op_lose(e, log, "its record is damaged");
		return;
	}
	log->was_late |= adopt_steps(e, log);
	pthread_mutex_lock(&e->logs.lock);
	e->logs.taken[log - e->logs.slots] = true;
	pthread_mutex_unlock(&e->logs.lock);
	txn_resume(e, log);
}

/* It was still observing: nothing is changed, noted or held for it. */
static bool has_not_begun(const struct op_log *log)
{
	return readable(log) && atomic_load(&log->state) == LOG_RUNS &&
	       !atomic_load(&log->n_devices);
}

void engine_recover(struct engine *e, bool asked_again)
{
	clear_busy(e);
	for (size_t i = 0; i < logs_used(&e->logs); i++) {
		struct op_log *log = &e->logs.slots[i];
		uint32_t state = atomic_load(&log->state);

		if (!asked_again && has_not_begun(log))
			atomic_store(&log->state, LOG_FREE);
		else if (state != LOG_FREE && state != LOG_ENDED)
			resume(e, log);
	}
}
