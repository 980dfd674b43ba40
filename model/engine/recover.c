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
static int undo_unknown(struct backend *backend, struct step *step, unsigned int deadline_ms,
			struct err *err)
{
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

/* The undo of a step may need that of an earlier one behind it: both are done again. */
static bool is_before_stuck(const struct op_log *log, uint32_t at)
{
	bool before = false;

	for (uint32_t i = at + 1; i < atomic_load(&log->n_steps) && !before; i++)
		before = log->steps[i].done && key_eq(&log->steps[i].dev, &log->steps[at].dev);
	return before;
}

/* Sets the steps' pointers for this process. Steps that had not begun are planned anew; those between
 * begun ones of other lanes stay in the list, not done. True: one of them was late. */
static bool adopt_steps(struct engine *e, struct op_log *log)
{
	uint32_t state = atomic_load(&log->state), n = 0;
	bool late = false;

	for (uint32_t i = 0; i < atomic_load(&log->n_steps); i++) {
		struct step *s = &log->steps[i];

		s->verb_name[sizeof(s->verb_name) - 1] = '\0';
		s->verb = find_verb(e, s->verb_name);
		s->verb = s->verb ? s->verb : &unknown_verb;
		s->done = s->begun && maybe_done(s, state == LOG_RUNS || (state == LOG_STUCK &&
									  is_before_stuck(log, i)));
		late |= s->late != NULL;
		s->late = NULL;
		if (s->begun)
			n = i + 1;
	}
	atomic_store(&log->n_steps, n);
	return late;
}

/* What could not be undone is tried again by the next daemon, not by the next process. */
static bool is_left(uint32_t state, bool model_found)
{
	return state != LOG_FREE && state != LOG_ENDED && (state != LOG_STUCK || !model_found);
}

/* Another operation on one of its devices is to be resumed before it. */
static bool comes_later(const struct logs *l, const struct op_log *log)
{
	for (const struct op_log *o = l->slots; o < l->slots + logs_used(l); o++) {
		uint32_t state = log_readable(o) ? atomic_load(&o->state) : LOG_FREE;

		if (o == log || state == LOG_FREE || state == LOG_ENDED ||
		    (state == LOG_STUCK && o > log))
			continue;
		for (uint32_t k = 0; k < atomic_load(&log->n_devices); k++)
			if (log_has(o, &log->devices[k]))
				return true;
	}
	return false;
}

/* What could not be undone waits for the next daemon while a newer operation is undone: the two
 * would meet in one device. */
static bool is_resumed(const struct engine *e, const struct op_log *log, bool model_found)
{
	uint32_t state = atomic_load(&log->state);

	return is_left(state, model_found) &&
	       (state != LOG_STUCK || !log_readable(log) || !comes_later(&e->logs, log));
}

/* Must its devices be resumed? */
static bool holds_devices(const struct op_log *log)
{
	uint32_t state = atomic_load(&log->state);

	return log_readable(log) && state != LOG_FREE && state != LOG_ENDED && state != LOG_DECIDED;
}

static void say_ended(struct device *d)
{
	snprintf(d->stuck, sizeof(d->stuck), ENDED_DURING, d->key.name);
}

/* Keeps the devices busy until the operation has them again, which may have to wait for a thread:
 * nobody takes them meanwhile. Those of one that waits for the next daemon are stuck. Call it with
 * the model locked. */
static void hold_devices(struct model *m, const struct op_log *log, bool resumed)
{
	uint32_t n = holds_devices(log) ? atomic_load(&log->n_devices) : 0;

	for (uint32_t i = 0; i < n; i++) {
		struct device *d = model_edit(m, &log->devices[i], false);

		if (d && resumed)
			op_say_busy(log, d);
		else if (d)
			say_ended(d);
	}
}

/* Nothing runs now, so busy devices were left so, except those of operations to be resumed: of each
 * log, whether it is. */
static void clear_busy(struct engine *e, bool model_found, const bool *resumed)
{
	struct model *m = e->conf.model;
	const struct device *found;
	size_t pos = 0;

	model_lock(m);
	while ((found = model_next(m, &pos))) {
		struct device *d = found->busy[0] ? model_edit(m, &found->key, false) : NULL;

		if (!d)
			continue;
		d->busy[0] = '\0';
		if (!e->logs.head || e->logs.anew)
			say_ended(d);
	}
	for (size_t i = 0; i < logs_used(&e->logs); i++)
		if (is_left(atomic_load(&e->logs.slots[i].state), model_found))
			hold_devices(m, &e->logs.slots[i], resumed[i]);
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
	bool known = log_readable(log);
	struct err why = { 0 };

	fail(&why, EIO, "%s of %s was interrupted by a restart and cannot be resumed: %s",
	     known ? log->requests[0].file : "an operation",
	     known ? log->requests[0].dev.name : name, cause);
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
	if (!e->logs.head && e->conf.journal.why.code) {
		out_printf(o, "acts=forgotten");
		out_pair(o, "hint", e->conf.journal.why.text);
		out_put(o, "\n", 1);
	}
}

/* It is to be undone, from what its log has; nothing more is known of it. */
static void make_orphan(struct op_log *log)
{
	if (atomic_load(&log->state) == LOG_RUNS)
		fail(&log->err, EIO, "pcidevfsd ended during %s of %s", log->requests[0].file,
		     log->requests[0].dev.name);
	log->orphan = ORPHAN_NEW;
	if (atomic_load(&log->state) != LOG_DECIDED)
		atomic_store(&log->state, LOG_UNDOES);
}

static void resume(struct engine *e, struct op_log *log, bool alone)
{
	if (!log_readable(log)) {
		op_lose(e, log, "its record is damaged");
		return;
	}
	log->was_late |= adopt_steps(e, log);
	if (alone)
		make_orphan(log);
	pthread_mutex_lock(&e->logs.lock);
	e->logs.taken[log - e->logs.slots] = true;
	pthread_mutex_unlock(&e->logs.lock);
	txn_resume(e, log);
}

/* It was still observing: nothing is changed, noted or held for it. */
static bool has_not_begun(const struct op_log *log)
{
	return log_readable(log) && atomic_load(&log->state) == LOG_RUNS &&
	       !atomic_load(&log->n_devices);
}

void engine_recover(struct engine *e, const struct former *f)
{
	struct logs_head *head = e->logs.head;
	bool other = head && atomic_load(&head->connection) != f->connection;
	bool resumed[ARRAY_SIZE(e->logs.taken)] = { false };

	e->running = f->running;
	/* Before the first of them ends. */
	for (size_t i = 0; i < logs_used(&e->logs); i++) {
		resumed[i] = is_resumed(e, &e->logs.slots[i], f->model_found);
		if (other) /* the kernel numbers its requests anew */
			e->logs.slots[i].who.tag = 0;
	}
	if (head)
		atomic_store(&head->connection, f->connection);
	clear_busy(e, f->model_found, resumed);
	for (size_t i = 0; i < logs_used(&e->logs); i++) {
		struct op_log *log = &e->logs.slots[i];
		uint32_t state = atomic_load(&log->state);

		if (!f->asked_again && has_not_begun(log))
			atomic_store(&log->state, LOG_FREE);
		else if (resumed[i])
			resume(e, log, state == LOG_STUCK || (other && !f->model_found));
	}
}
