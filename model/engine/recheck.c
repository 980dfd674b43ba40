// SPDX-License-Identifier: GPL-2.0-or-later
/* What is looked at before a plan; what a step's verb must know of others is asked again before it,
 * where that has become old. */
#include "operation.h"

#include <errno.h>
#include <stdlib.h>

#include "pcidevfs/model.h"
#include "pcidevfs/util.h"

static uint64_t in_doubt(struct model *m, const struct method *method,
			 const struct request *request)
{
	const struct device *dev = method->doubts ? model_find(m, &request->dev) : NULL;

	return dev ? method->doubts(dev, request) : 0;
}

int op_look(struct engine *e, const struct request *requests, size_t n_requests,
	    uint64_t *guarded_at, struct err *err)
{
	const struct world *w = &e->conf.world;
	_free_ struct key *devs = calloc(n_requests ? n_requests : 1, sizeof(*devs));
	struct model *m = e->conf.model;
	/* devs begins with those to look at, and ends with those in doubt. */
	size_t n = 0, doubted = n_requests;
	uint64_t since = 0;
	bool guards = false;
	int rc;

	if (!devs)
		return fail(err, ENOMEM, "no memory for the operation");
	model_lock(m);
	for (size_t i = 0; i < n_requests; i++) {
		const struct method *method = method_find(w->methods, &requests[i]);
		struct request found;

		/* A VF that is not there: its PF. */
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
	if (!rc && since)
		rc = w->observe_holders(w->backend, devs + doubted, n_requests - doubted, since,
					err);
	return rc;
}

/* What is known without a look will do for this: whose device is busy is no fact of the kernel's. A
 * plan that cannot be made, or finds other devices after the look, is the stage's to judge. */
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
 * Between any answer and the kernel's write some time passes that nobody can close: the answer is
 * read from processes one after the other, a helper is sent. What was asked for the plan counts as
 * long as that is of the same order. An operation that waited for the disk, a module or another
 * device's driver asks again.
 */
#define YOUNG_MS 50

int op_recheck(struct txn *t, const struct step *step, struct err *err)
{
	const struct world *w = &t->engine->conf.world;
	struct model *m = t->engine->conf.model;
	int r = 0;

	if (!step->verb->refuse)
		return 0;
	if (w->guard && now_ms() - t->guarded_at >= YOUNG_MS)
		r = w->guard(w->backend, &step->dev, err);
	if (r)
		return r;
	model_lock(m);
	r = step->verb->refuse(m, step, err);
	model_unlock(m);
	return r;
}
