// SPDX-License-Identifier: GPL-2.0-or-later
/* What a step's verb must know of others is asked again before it, where that has become old. */
#include "act.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"

/*
 * Between any answer and the kernel's write some time passes that nobody can close: the answer is read from
 * processes one after the other, a helper is sent. What was asked for the plan counts as long as that is of the
 * same order. An act that waited for the disk, a module or another device's driver asks again.
 */
#define YOUNG_MS 50

int act_recheck(struct txn *t, const struct step *step, struct err *err)
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
