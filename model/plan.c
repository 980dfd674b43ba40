// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"

/* Makes room for one more element; vectors grow by doubling from 8. */
static void *grown(void *v, size_t n, size_t size)
{
	if (n && (n < 8 || (n & (n - 1))))
		return v;
	return reallocarray(v, n ? 2 * n : 8, size);
}

int plan_step(struct plan *p, const struct verb *verb, const struct key *dev, const char *value,
	      struct err *err)
{
	struct step *steps;
	struct step s = { .verb = verb, .dev = *dev };

	if (p->n_steps >= PLAN_STEPS)
		return fail(err, E2BIG, "this takes more than %d steps", PLAN_STEPS);
	if (!STR_COPY(s.value, value))
		return fail(err, EINVAL, "%s: \"%s\" is too long", verb->name, value);
	steps = grown(p->steps, p->n_steps, sizeof(*steps));
	if (!steps)
		return fail(err, ENOMEM, "no memory for the plan");
	p->steps = steps;
	p->steps[p->n_steps++] = s;
	return 0;
}

int plan_touch(struct plan *p, const struct key *dev, struct err *err)
{
	struct key *devices;

	for (size_t i = 0; i < p->n_devices; i++)
		if (key_eq(&p->devices[i], dev))
			return 0;
	if (p->n_devices >= PLAN_DEVICES)
		return fail(err, E2BIG, "this concerns more than %d devices", PLAN_DEVICES);
	devices = grown(p->devices, p->n_devices, sizeof(*devices));
	if (!devices)
		return fail(err, ENOMEM, "no memory for the plan");
	p->devices = devices;
	p->devices[p->n_devices++] = *dev;
	return 0;
}

void plan_free(struct plan *p)
{
	free(p->steps);
	free(p->devices);
	*p = (struct plan){ 0 };
}

void plan_print(const struct plan *p, struct out *o)
{
	char id[KEY_NAME + 8];

	if (!p->n_steps)
		out_printf(o, "nothing to do\n");
	for (size_t i = 0; i < p->n_steps; i++) {
		const struct step *s = &p->steps[i];

		out_printf(o, "%zu %s %s %s%s\n", i + 1, key_id(&s->dev, id), s->verb->name,
			   s->value[0] ? s->value : "none", s->expected ? " (expected)" : "");
	}
}

const struct method *method_find(const struct method *const *methods, const char *file)
{
	for (; *methods; methods++)
		if (!strcmp((*methods)->file, file))
			return *methods;
	return NULL;
}

static int expand(struct model *m, const struct method *method, const struct wish *wish, struct plan *p,
		  struct err *err)
{
	const struct device *dev = model_find(m, &wish->dev);

	if (!dev)
		return fail(err, ENODEV, "%s is gone", wish->dev.name);
	if (!method)
		return fail(err, EOPNOTSUPP, "%s has no %s that can be written", wish->dev.name,
			    wish->file);
	if (method->can && !method->can(dev))
		return fail(err, EOPNOTSUPP, "%s is a %s and has no %s", wish->dev.name,
			    kind_name(dev->kind), wish->file);
	return method->expand(m, wish, p, err);
}

static int refuse_busy(struct model *m, const struct plan *p, struct err *err)
{
	for (size_t i = 0; i < p->n_devices; i++) {
		const struct device *dev = model_find(m, &p->devices[i]);

		if (dev && dev->busy[0])
			return fail(err, EBUSY, "%s is busy: %s is running; wait for it and write again",
				    dev->key.name, dev->busy);
	}
	return 0;
}

/* The lowest rank above `above` among the methods asked for; -1 when there is none. */
static int next_rank(const struct method *const *methods, const struct wish *wishes, size_t n, int above)
{
	int rank = -1;

	for (size_t i = 0; i < n; i++) {
		const struct method *method = method_find(methods, wishes[i].file);
		int r = method ? method->rank : 0;

		if (r > above && (rank < 0 || r < rank))
			rank = r;
	}
	return rank;
}

int plan_make(struct model *m, const struct method *const *methods, const struct wish *wishes, size_t n,
	      struct plan *ret, struct err *err)
{
	struct plan p = { 0 };
	int r = 0;

	for (int rank = next_rank(methods, wishes, n, -1); rank >= 0 && !r;
	     rank = next_rank(methods, wishes, n, rank))
		for (size_t i = 0; i < n && !r; i++) {
			const struct method *method = method_find(methods, wishes[i].file);

			if ((method ? method->rank : 0) == rank)
				r = expand(m, method, &wishes[i], &p, err);
		}
	if (!r)
		r = refuse_busy(m, &p, err);
	if (r) {
		plan_free(&p);
		return r;
	}
	*ret = p;
	return 0;
}
