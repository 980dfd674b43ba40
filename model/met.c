// SPDX-License-Identifier: GPL-2.0-or-later
/* Wishes that this act has met, although no fact tells: the log does. */
#include <errno.h>
#include <stdlib.h>

#include "act.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"

bool met_by_absence(struct txn *t, const struct wish *wish)
{
	const struct method *method = method_find(t->engine->conf.world.methods, wish);
	struct model *m = t->engine->conf.model;
	struct wish w;

	if (!log_removes(t->log) || !method || !method->down)
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

int act_keep(struct txn *t, bool pending, struct err *err)
{
	const struct engine_conf *conf = &t->engine->conf;
	_free_ struct wish *wishes = calloc(t->log->n_wishes, sizeof(*wishes));
	size_t n = 0;

	if (!wishes)
		return fail(err, ENOMEM, "no memory for the act");
	for (size_t i = 0; i < t->log->n_wishes; i++) {
		const struct method *method = method_find(conf->world.methods, &t->log->wishes[i]);

		if (!method || !method->once)
			wishes[n++] = t->log->wishes[i];
	}
	return n && conf->keeper.keep ? conf->keeper.keep(conf->keeper.ctx, wishes, n, pending, err)
				      : 0;
}
