// SPDX-License-Identifier: GPL-2.0-or-later
/* What is observed before a plan; and what a step's verb must know about others, asked again right
 * before the step if it has become old. */
#include "operation.h"

#include <stdlib.h>

#include "pcidevfs/model.h"
#include "pcidevfs/util.h"

static uint64_t in_doubt(struct model *m, const struct method *method,
			 const struct request *request)
{
	const struct device *dev = method->doubts ? model_find(m, &request->dev) : NULL;

	return dev ? method->doubts(dev, request) : 0;
}

static void ask_drivers(struct engine *e, const struct request *requests, size_t n)
{
	const struct engine_world *w = &e->conf.world;
	_free_ struct key *devs = w->ask_drivers ? calloc(n + 1, sizeof(*devs)) : NULL;
	size_t told = 0;

	for (size_t i = 0; i < n && devs; i++) {
		const struct method *method = method_find(w->methods, &requests[i]);

		if (method && method->told && !request_parent(&requests[i]) &&
		    !(told && key_eq(&devs[told - 1], &requests[i].dev)))
			devs[told++] = requests[i].dev;
	}
	if (told)
		w->ask_drivers(w->backend, devs, told);
}

int op_look(struct engine *e, const struct request *requests, size_t n_requests,
	    _Atomic uint64_t *guarded_at, struct err *err)
{
	const struct engine_world *w = &e->conf.world;
	_free_ struct key *devs = calloc(n_requests ? n_requests : 1, sizeof(*devs));
	struct model *m = e->conf.model;
	/* devs begins with those to observe, and ends with those in doubt. */
	size_t n = 0, doubted = n_requests;
	uint64_t since = 0;
	bool guards = false;
	int rc;

	if (!devs)
		return fail_nomem(err);
	model_lock(m);
	for (size_t i = 0; i < n_requests; i++) {
		const struct method *method = method_find(w->methods, &requests[i]);
		struct request found;

		/* For a missing VF: its PF. */
		request_resolve(m, &requests[i], &found);
		if (method && method->noted) {
			uint64_t doubt = guarded_at ? in_doubt(m, method, &found) : 0;

			if (doubt)
				devs[--doubted] = found.dev;
			since = doubt > since ? doubt : since;
			continue;
		}
		devs[n++] = found.dev;
		guards |= guarded_at && method && method->guarded;
	}
	model_unlock(m);
	if (guards)
		*guarded_at = now_ms();
	rc = n ? w->observe(w->backend, devs, n, guards, err) : 0;
	if (!rc)
		ask_drivers(e, requests, n_requests);
	if (!rc && since)
		rc = w->observe_holders(w->backend, devs + doubted, n_requests - doubted, since,
					err);
	return rc;
}

/* Refuses by what is known without a look, because busy is not a fact of the kernel. If no plan can
 * be made, or the look finds other devices, the stage decides. */
int op_refuse_early(struct engine *e, const struct request *requests, size_t n, struct err *err)
{
	struct model *m = e->conf.model;
	struct plan p;
	int r;

	model_lock(m);
	r = plan_make(m, e->conf.world.methods, requests, n, false, &p, NULL);
	r = r ? 0 : plan_refuse_busy(m, &p, NULL, NULL, err);
	model_unlock(m);
	plan_free(&p);
	return r;
}

/*
 * Some time always passes between an answer and the kernel's write: the answer is read from one
 * process after another, and a helper is sent. The plan's answer counts as long as its age is of
 * that order. An operation that has waited for the disk, a module or another device's driver asks
 * again.
 */
#define YOUNG_MS 50

/* About the devices of all steps: the answer is read for as many at once, and steps that follow
 * within YOUNG_MS have it too. */
static int ask_again(struct txn *t, struct err *err)
{
	const struct engine_world *w = &t->engine->conf.world;
	uint32_t n_steps = atomic_load(&t->log->n_steps);
	_free_ struct key *devs = calloc(n_steps + 1, sizeof(*devs));
	uint64_t now = now_ms();
	size_t n = 0;
	int r;

	if (!devs)
		return fail_nomem(err);
	atomic_store(&t->stirred, NULL);
	for (uint32_t i = 0; i < n_steps; i++)
		if (t->log->steps[i].verb->refuse)
			devs[n++] = t->log->steps[i].dev;
	r = w->guard(w->backend, devs, n, err);
	if (!r)
		atomic_store(&t->guarded_at, now);
	return r;
}

static bool is_outdated(struct txn *t, const struct step *step)
{
	const struct step *stirred = atomic_load(&t->stirred);

	return now_ms() - atomic_load(&t->guarded_at) >= YOUNG_MS ||
	       (stirred && !key_eq(&stirred->dev, &step->dev));
}

int op_recheck(struct txn *t, const struct step *step, struct err *err)
{
	const struct engine_world *w = &t->engine->conf.world;
	struct model *m = t->engine->conf.model;
	int r = 0;

	if (!step->verb->refuse)
		return 0;
	if (w->guard && is_outdated(t, step))
		r = ask_again(t, err);
	if (r)
		return r;
	model_lock(m);
	r = step->verb->refuse(m, step, err);
	model_unlock(m);
	return r;
}
