// SPDX-License-Identifier: GPL-2.0-or-later
/* What a process that was killed had begun is carried on by the next, or taken back. */
#include <string.h>

#include "act.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"

static const struct verb *find_verb(const struct engine *e, const char *name)
{
	const struct verb *const *v = e->conf.world.verbs;

	for (; v && *v; v++)
		if (!strcmp((*v)->name, name))
			return *v;
	return NULL;
}

/* A step that was begun may have been done: undoing what never happened does nothing, as long as it is known
 * how it was before. What cannot be undone counts as done only when that is known. */
static bool maybe_done(const struct step *s, bool running)
{
	return s->done || s->late || (running && s->verb->undo && (s->recorded || !s->verb->records));
}

/* Gives the steps the pointers of this process. Those that were not begun are planned anew. True: one of them
 * had missed its deadline. */
static bool adopt_steps(struct engine *e, struct act_log *log)
{
	bool late = false;
	uint32_t n = 0;

	for (uint32_t i = 0; i < atomic_load(&log->n_steps) && i < PLAN_STEPS; i++) {
		struct step *s = &log->steps[i];

		s->verb_name[sizeof(s->verb_name) - 1] = '\0';
		s->verb = s->begun ? find_verb(e, s->verb_name) : NULL;
		if (!s->verb)
			break;
		s->done = maybe_done(s, atomic_load(&log->state) == LOG_RUNS);
		late |= s->late != NULL;
		s->late = NULL;
		n++;
	}
	atomic_store(&log->n_steps, n);
	return late;
}

/* Nothing runs now: what still reads busy was left so. */
static void clear_busy(struct model *m)
{
	const struct device *found;
	size_t pos = 0;

	model_lock(m);
	while ((found = model_next(m, &pos))) {
		struct key key = found->key;

		if (found->busy[0])
			model_edit(m, &key, false)->busy[0] = '\0';
	}
	model_publish(m);
	model_unlock(m);
}

void engine_recover(struct engine *e)
{
	clear_busy(e->conf.model);
	for (size_t i = 0; i < logs_used(&e->logs); i++) {
		struct act_log *log = &e->logs.slots[i];
		uint32_t state = atomic_load(&log->state);
		bool late;

		if (state == LOG_FREE || state == LOG_ENDED || !log->n_wishes || log->n_wishes > LOG_WISHES)
			continue;
		late = adopt_steps(e, log);
		pthread_mutex_lock(&e->logs.lock);
		e->logs.taken[i] = true;
		pthread_mutex_unlock(&e->logs.lock);
		txn_resume(e, log, late);
	}
}
