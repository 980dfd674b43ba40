// SPDX-License-Identifier: GPL-2.0-or-later
/* Wishes that this act has met, although no fact tells: the log does. */
#include <errno.h>
#include <stdlib.h>

#include "act.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"

/* The parent of what is wished something, which need not be there any more; NULL: it had none. */
static const struct key *parent_of(const struct act_log *log, const struct wish *wish)
{
	if (wish_parent(wish))
		return wish_parent(wish);
	for (uint32_t i = 0; i < atomic_load(&log->n_saved); i++)
		if (key_eq(&log->saved[i].dev, &wish->dev))
			return &log->saved[i].parent;
	return NULL;
}

bool met_by_absence(struct txn *t, const struct wish *wish)
{
	const struct method *method = method_find(t->engine->conf.world.methods, wish);
	const struct key *parent = parent_of(t->log, wish);
	struct model *m = t->engine->conf.model;
	struct wish w;

	if (!method || !method->down || !parent || !log_removes(t->log, parent))
		return false;
	if (!wish_resolve(m, wish, &w) && model_find(m, &w.dev))
		return false;
	return method->down(m, wish);
}

bool met_once(struct txn *t, const struct wish *wish)
{
	const struct method *method = method_find(t->engine->conf.world.methods, wish);
	struct wish w;

	if (!method || !method->once || wish_resolve(t->engine->conf.model, wish, &w))
		return false;
	for (uint32_t i = 0; i < atomic_load(&t->log->n_steps); i++) {
		const struct step *s = &t->log->steps[i];

		if (s->done && s->verb == method->once && key_eq(&s->dev, &w.dev))
			return true;
	}
	return false;
}

/* An act that is no state leaves nothing behind. */
static bool is_kept(const struct txn *t, const struct wish *wish)
{
	const struct method *method = method_find(t->engine->conf.world.methods, wish);

	return !method || !method->once;
}

bool act_keeps(const struct txn *t)
{
	bool keeps = false;

	for (size_t i = 0; i < t->log->n_wishes && t->engine->conf.keeper.keep && !keeps; i++)
		keeps = is_kept(t, &t->log->wishes[i]);
	return keeps;
}

int act_keep(struct txn *t, bool pending, struct err *err)
{
	const struct keeper *keeper = &t->engine->conf.keeper;
	_free_ struct wish *wishes = NULL;
	size_t n = 0;

	if (!act_keeps(t))
		return 0;
	wishes = calloc(t->log->n_wishes, sizeof(*wishes));
	if (!wishes)
		return fail(err, ENOMEM, "no memory for the act");
	for (size_t i = 0; i < t->log->n_wishes; i++)
		if (is_kept(t, &t->log->wishes[i]))
			wishes[n++] = t->log->wishes[i];
	return keeper->keep(keeper->ctx, wishes, n, pending, err);
}

bool act_noted_only(const struct txn *t, const struct key *dev)
{
	bool named = false, looked = false;

	for (size_t i = 0; i < t->log->n_wishes; i++) {
		const struct wish *w = &t->log->wishes[i];
		const struct method *method = method_find(t->engine->conf.world.methods, w);
		bool noted = method && method->noted, here = key_eq(&w->dev, dev);

		if (here && !noted)
			return false;
		named |= here;
		looked |= !noted;
	}
	return named || !looked;
}
