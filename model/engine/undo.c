// SPDX-License-Identifier: GPL-2.0-or-later
/* Undoes the steps of a transaction, and sets the state of its devices afterwards. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "operation.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"

/* Observes all touched devices, not only those of requests as op_look() does: once such a device is
 * gone, nothing leads from it to the others. */
static void look_at_touched(const struct txn *t)
{
	const struct engine_world *w = &t->engine->conf.world;
	struct err ignored;

	if (t->n_devices)
		w->observe(w->backend, t->devices, t->n_devices, false, &ignored);
}

/* Children of this device that an undo has made again have a new birth; the steps that remain to be
 * undone are those of the old ones. */
static void renew_births(struct txn *t, const struct key *parent)
{
	look_at_touched(t);
	model_lock(model_of(t));
	for (size_t i = 0; i < t->n_devices; i++) {
		const struct device *d = model_find(model_of(t), &t->devices[i]);

		if (d && key_eq(&d->facts.parent, parent))
			t->births[i] = d->birth;
	}
	model_unlock(model_of(t));
}

struct step *op_late_step(struct txn *t)
{
	for (uint32_t i = 0; i < atomic_load(&t->log->n_steps); i++)
		if (t->log->steps[i].late)
			return &t->log->steps[i];
	return NULL;
}

void op_mark_stuck(struct txn *t, const char *why)
{
	struct model *m = model_of(t);

	model_lock(m);
	for (size_t i = 0; i < t->n_devices; i++) {
		struct device *d = model_edit(m, &t->devices[i], false);

		if (!d || !op_holds(t, d))
			continue;
		if (why)
			snprintf(d->stuck, sizeof(d->stuck), "%.200s; it is undone once that ends",
				 why);
		else
			d->stuck[0] = '\0';
	}
	model_publish(m);
	model_unlock(m);
}

/* Undoes the done steps, the last one first. On failure stuck tells what stays. A late undo delays
 * the others; afterwards the undo starts again with it. */
static int undo_steps(struct txn *t, struct err *stuck)
{
	struct engine *e = t->engine;
	int r = 0;

	for (uint32_t i = atomic_load(&t->log->n_steps); i-- > 0 && !op_late_step(t);) {
		struct step *s = &t->log->steps[i];
		struct err why = { 0 };
		int u = 0;

		if (!s->done)
			continue;
		if (s->verb->undo && op_still_there(t, &s->dev))
			u = s->verb->undo(e->conf.world.backend, s, op_deadline(e, s->verb), &why);
		if (u == -ENODEV)
			u = 0; /* the device left, and with it the effect */
		s->done = u;   /* if it could not be undone it stays done */
		if (!u && s->verb->remakes)
			renew_births(t, &s->dev);
		if (u && !r)
			r = fail(stuck, -u, "%s %s could not be undone: %.300s", s->verb->name,
				 s->dev.name, why.text);
	}
	return r;
}

static bool left_done(const struct txn *t, const struct key *dev)
{
	for (uint32_t i = 0; i < atomic_load(&t->log->n_steps); i++)
		if (t->log->steps[i].done && key_eq(&t->log->steps[i].dev, dev))
			return true;
	return false;
}

void op_leave_devices(struct txn *t, const char *stuck)
{
	for (size_t i = 0; i < t->n_devices && t->marked; i++) {
		struct device *d = model_edit(model_of(t), &t->devices[i], false);

		if (!d || !op_holds(t, d))
			continue;
		d->busy[0] = '\0';
		if (stuck && left_done(t, &t->devices[i]))
			STR_COPY(d->stuck, stuck);
	}
}

/* Puts the former intents back, unless some step remains: that state needs them. */
static void end_undone(struct txn *t, const char *stuck)
{
	struct model *m = model_of(t);

	/* A device that is gone must not be marked. */
	if (t->marked)
		look_at_touched(t);
	model_lock(m);
	if (!stuck)
		snapshot_put_back(t);
	op_leave_devices(t, stuck);
	model_publish(m);
	model_unlock(m);
}

/* Before the last one that began, which may have done a part. */
static bool any_done(const struct txn *t)
{
	bool done = false, any = false;

	for (uint32_t i = 0; i < atomic_load(&t->log->n_steps); i++) {
		any |= done && t->log->steps[i].begun;
		done |= t->log->steps[i].done;
	}
	return any;
}

struct step *op_take_back(struct txn *t, struct err *err)
{
	struct err stuck = { 0 }, why = *err;
	bool any = any_done(t);
	struct step *late;

	if (undo_steps(t, &stuck))
		err_blame(err, fail(err, why.code, "%.160s; and %.300s", why.text, stuck.text),
			  why.line);
	late = op_late_step(t);
	/* Of the unexplained ones nobody knows how far the kernel came. */
	if (any && !late && !stuck.code && why.code == EIO)
		err_blame(err, fail(err, EIO, "%.400s; the steps before it were undone", why.text),
			  why.line);
	if (late)
		op_mark_stuck(t, stuck.text);
	else
		end_undone(t, stuck.code ? stuck.text : NULL);
	return late;
}
