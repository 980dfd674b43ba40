// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests that this operation has satisfied, although no fact shows it: the log does. */

#include "operation.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"

/* The parent of the request's device, which may be gone; NULL: it had none. */
static const struct key *parent_of(const struct op_log *log, const struct request *request)
{
	if (request_parent(request))
		return request_parent(request);
	for (uint32_t i = 0; i < atomic_load(&log->n_snapshots); i++)
		if (key_eq(&log->snapshots[i].dev, &request->dev))
			return &log->snapshots[i].parent;
	return NULL;
}

bool engine_takes_away(const struct engine *e, const struct request *request)
{
	const struct method *m = e ? method_find(e->conf.world.methods, request) : NULL;

	return m && m->down ? m->down(e->conf.model, request) : !request->value[0];
}

bool satisfied_by_absence(struct txn *t, const struct request *request)
{
	const struct method *method = method_find(t->engine->conf.world.methods, request);
	const struct key *parent = parent_of(t->log, request);
	struct model *m = t->engine->conf.model;
	struct request w;

	if (!method || !method->down || !parent || !log_removes(t->log, parent))
		return false;
	if (!request_resolve(m, request, &w) && model_find(m, &w.dev))
		return false;
	return method->down(m, request);
}

bool satisfied_once(struct txn *t, const struct request *request)
{
	const struct method *method = method_find(t->engine->conf.world.methods, request);
	struct request w;

	if (!method || !method->once || request_resolve(t->engine->conf.model, request, &w))
		return false;
	for (uint32_t i = 0; i < atomic_load(&t->log->n_steps); i++) {
		const struct step *s = &t->log->steps[i];

		if (s->done && s->verb == method->once && key_eq(&s->dev, &w.dev))
			return true;
	}
	return false;
}

/* An operation without a state is not stored. */
bool op_keeps(const struct txn *t)
{
	const struct method *const *methods = t->engine->conf.world.methods, *method;
	bool keeps = false;

	for (size_t i = 0; i < t->log->n_requests && t->engine->conf.keeper.keep && !keeps; i++) {
		method = method_find(methods, &t->log->requests[i]);
		keeps = !method || !method->once;
	}
	return keeps;
}

int op_keep(struct txn *t, bool begins, struct err *err)
{
	const struct keeper *keeper = &t->engine->conf.keeper;

	return op_keeps(t) ? keeper->keep(keeper->ctx, t->log->requests, t->log->n_requests, begins,
					  err)
			   : 0;
}

bool op_noted_only(const struct txn *t, const struct key *dev)
{
	bool named = false, looked = false;

	for (uint32_t i = 0; i < atomic_load(&t->log->n_steps); i++)
		if (key_eq(&t->log->steps[i].dev, dev))
			return false;
	for (size_t i = 0; i < t->log->n_requests; i++) {
		const struct request *w = &t->log->requests[i];
		const struct method *method = method_find(t->engine->conf.world.methods, w);
		bool noted = method && method->noted, here = key_eq(&w->dev, dev);

		if (here && !noted)
			return false;
		named |= here;
		looked |= !noted;
	}
	return named || !looked;
}
