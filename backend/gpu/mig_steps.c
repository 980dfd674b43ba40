// SPDX-License-Identifier: GPL-2.0-or-later
/* The requests to NVML that change MIG, and their undo. An instance is known by its profile and place:
 * the driver gives an id again to another one (spec/nvml.md 2.2). */
#include "mig_steps.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "backend/internal.h"
#include "mig_plan.h"
#include "nvml_ask.h"
#include "settings.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"

/* The driver may reset the card for another mode. */
#define MODE_MS 60000
#define INSTANCE_MS 30000

/* ---- an instance as text */

void mig_spot_print(const struct mig_spot *s, char ret[static STEP_VALUE])
{
	int n = snprintf(ret, STEP_VALUE, "%u %s %u:%u", s->id, s->name, s->start, s->size);
	int before = n;

	for (unsigned int slices = MIG_SLICES - 1; slices && n < STEP_VALUE; slices--) {
		if (!s->computes[slices])
			continue;
		n += snprintf(ret + n, (size_t)(STEP_VALUE - n), " %uc", slices);
		if (s->computes[slices] > 1 && n < STEP_VALUE)
			n += snprintf(ret + n, (size_t)(STEP_VALUE - n), "*%u",
				      s->computes[slices]);
	}
	if (n == before && !s->computes[0])
		snprintf(ret + n, (size_t)(STEP_VALUE - n), " none");
}

/* "1c*2" */
static int read_computes(const char *word, size_t len, uint8_t computes[static MIG_SLICES])
{
	unsigned int slices, n = 1;
	int used = 0, all = 0;

	if (sscanf(word, "%2uc%n*%2u%n", &slices, &used, &n, &all) < 1 || !used || !slices ||
	    slices >= MIG_SLICES || !n || n > MIG_SLICES || (size_t)(all ? all : used) != len)
		return -EINVAL;
	computes[slices] = (uint8_t)n;
	return 0;
}

/* A log may be one of a process that ran foreign code. */
int mig_spot_read(const char *text, struct mig_spot *ret)
{
	struct mig_spot s = { .id = 0 };
	char copy[STEP_VALUE], *word, *rest = copy;
	int used = 0, rc = 0;

	STR_COPY(copy, text);
	if (sscanf(copy, "%9u %31s %2u:%2u%n", &s.id, s.name, &s.start, &s.size, &used) != 4 ||
	    *copy < '0' || *copy > '9' || s.start >= MIG_SLICES || s.size > MIG_SLICES - s.start ||
	    (copy[used] && copy[used] != ' '))
		return -EINVAL;
	rest += used;
	s.computes[0] = !*rest;
	if (!strcmp(rest, " none"))
		*rest = '\0';
	while (!rc && *rest) {
		word = rest + 1;
		rest = word + strcspn(word, " ");
		rc = read_computes(word, (size_t)(rest - word), s.computes);
	}
	if (!rc)
		*ret = s;
	return rc;
}

/* ---- requests */

struct mig_job {
	struct backend *b;
	struct step *step;
	uint64_t until;
	struct err *err;
};

static struct mig_job job_of(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	return (struct mig_job){ b, step, now_ms() + ms, err };
}

/* answer: NULL, or to be freed in any case. */
__attribute__((format(printf, 3, 4))) static int ask(const struct mig_job *j, struct out *answer,
						     const char *fmt, ...)
{
	uint64_t now = now_ms();
	struct out unused = { 0 };
	char request[160];
	va_list ap;
	int rc;

	va_start(ap, fmt);
	vsnprintf(request, sizeof(request), fmt, ap);
	va_end(ap);
	if (now >= j->until)
		return fail(j->err, ETIMEDOUT, "%s of %s did not end in time", j->step->verb->name,
			    j->step->dev.name);
	rc = nvml_ask(j->b, j->step, (unsigned int)(j->until - now), request,
		      answer ? answer : &unused, j->err);
	out_free(&unused);
	return rc;
}

static int read_mig(const struct mig_job *j, struct mig *ret)
{
	struct out lines = { 0 };
	int rc = ask(j, &lines, "instances %s", j->step->dev.name);

	*ret = (struct mig){ 0 };
	if (!rc && mig_read(out_text(&lines), ret))
		rc = fail(j->err, EIO, "what the driver of %s tells of MIG makes no sense",
			  j->step->dev.name);
	out_free(&lines);
	return rc;
}

/* ---- the mode */

/* The driver may refuse and change it nevertheless with the next reset, or say that it did and have
 * somebody use the card: what it reads then decides (spec/nvml.md 2.1). */
static int set_mode(const struct mig_job *j, unsigned int mode, unsigned int before)
{
	struct err why = { 0 }, unread = { 0 };
	struct mig_job trial = *j;
	struct mig now;
	int rc;

	trial.err = &why;
	rc = ask(&trial, NULL, "set-mig-mode %s %u", j->step->dev.name, mode);
	trial.err = &unread;
	if (rc && !j->step->late && !read_mig(&trial, &now) && now.pending != before)
		rc = 0;
	return rc ? fail(j->err, -rc, "%s", why.text) : 0;
}

static int mode_learn(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	settings_record(b, step, offsetof(struct device, facts.mig_pending));
	return 0;
}

static int mode_run(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	const struct mig_job j = job_of(b, step, ms, err);

	return set_mode(&j, step->value[0] == '1', step->former[0] == '1');
}

static int mode_undo(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	const struct mig_job j = job_of(b, step, ms, err);
	unsigned int mode = step->former[0] == '1';
	struct mig now;
	int rc = read_mig(&j, &now);

	return rc || now.pending == mode ? rc : set_mode(&j, mode, !mode);
}

const struct verb mig_mode = { .of = "mig",
			       .name = "mig/mode",
			       .deadline_ms = MODE_MS,
			       .records = true,
			       .partial = true,
			       .lanes = true,
			       .learn = mode_learn,
			       .run = mode_run,
			       .undo = mode_undo };

/* ---- instances */

/* What is at a place. */
struct found {
	bool there, made;	/* made: by this step */
	unsigned int id, whole; /* slices of a compute instance of the whole size */
	struct mig_spot is;
	struct mig mig;
};

/* At the place of `at`, its compute instances of the whole size as [0]. */
static const struct mig_instance *instance_at(const struct mig *m, const struct mig_spot *at,
					      struct mig_spot *ret)
{
	for (size_t i = 0; i < m->n_instances; i++) {
		const struct mig_instance *in = &m->instances[i];

		*ret = mig_spot_of(m, in->profile, in->start, in->computes);
		if (ret->id == at->id && ret->start == at->start)
			return in;
	}
	return NULL;
}

static int find(const struct mig_job *j, const struct mig_spot *at, struct found *ret)
{
	int rc = read_mig(j, &ret->mig);
	const struct mig_instance *in = rc ? NULL : instance_at(&ret->mig, at, &ret->is);

	ret->there = in;
	ret->id = in ? in->id : 0;
	ret->whole = in ? ret->mig.profiles[in->profile].compute : 0;
	return rc;
}

static int create(const struct mig_job *j, const struct mig_spot *s, unsigned int *ret_id)
{
	struct out lines = { 0 };
	int rc = ask(j, &lines, "create-instance %s %u %u %u", j->step->dev.name, s->id, s->start,
		     s->size);

	if (!rc && sscanf(out_text(&lines), "instance %9u", ret_id) != 1)
		rc = fail(j->err, EIO, "%s has made %s, and tells no id of it", j->step->dev.name,
			  s->name);
	out_free(&lines);
	return rc;
}

/* The largest first: they lie in fewer places. */
static int add_computes(const struct mig_job *j, const struct mig_spot *to, const struct found *f)
{
	int rc = 0;

	for (unsigned int k = MIG_SLICES; k-- > 0 && !rc;)
		for (unsigned int n = f->there ? f->is.computes[k] : 0; n < to->computes[k] && !rc;
		     n++)
			rc = k ? ask(j, NULL, "create-compute %s %u %uc.%s", j->step->dev.name,
				     f->id, k, to->name)
			       : ask(j, NULL, "create-compute %s %u %s", j->step->dev.name, f->id,
				     to->name);
	return rc;
}

/* to NULL: all. */
static int drop_computes(const struct mig_job *j, const struct mig_spot *to, struct found *f)
{
	int rc = 0;

	for (size_t i = f->mig.n_computes; i-- > 0 && !rc;) {
		const struct mig_compute *c = &f->mig.computes[i];
		unsigned int slices = c->slices == f->whole ? 0 : c->slices;

		if (c->gi != f->id || (to && f->is.computes[slices] <= to->computes[slices]))
			continue;
		rc = ask(j, NULL, "destroy-compute %s %u %u", j->step->dev.name, f->id, c->id);
		f->is.computes[slices] -= !rc;
	}
	return rc;
}

/* Makes the place as it is to be; to NULL: empty. */
static int reach(const struct mig_job *j, const struct mig_spot *to, struct found *f)
{
	int rc = f->there ? drop_computes(j, to, f) : 0;

	if (!rc && f->there && !to)
		return ask(j, NULL, "destroy-instance %s %u", j->step->dev.name, f->id);
	if (rc || !to)
		return rc;
	if (!f->there) {
		rc = create(j, to, &f->id);
		f->made = !rc;
	}
	return rc ? rc : add_computes(j, to, f);
}

/* The driver had no room for the instance: one at its place is of others, who were faster, and undo
 * leaves it as it is. */
static void spare_others(const struct mig_job *j, const struct mig_spot *at)
{
	struct err unread = { 0 };
	struct mig_job look = *j;
	struct found f;

	look.err = &unread;
	if (!find(&look, at, &f) && f.there)
		mig_spot_print(&f.is, j->step->former);
}

/* former: the place as it was; "": empty, as it is for mig_create, unless others have made one there
 * meanwhile. */
static int instance_learn(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	const struct device *dev;
	struct mig_spot at, was;
	struct mig mig;

	step->recorded = true;
	if (step->verb == &mig_create || mig_spot_read(step->value, &at))
		return 0;
	model_lock(b->model);
	dev = model_find(b->model, &step->dev);
	if (!dev || mig_of(b->model, dev, &mig))
		mig.n_instances = 0;
	model_unlock(b->model);
	if (instance_at(&mig, &at, &was))
		mig_spot_print(&was, step->former);
	return 0;
}

static int instance_undo(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	const struct mig_job j = job_of(b, step, ms, err);
	struct mig_spot at, was, *to = step->former[0] ? &was : NULL;
	struct found f;
	int rc = mig_spot_read(step->value, &at);

	if (!rc && to)
		rc = mig_spot_read(step->former, to);
	if (rc)
		return fail(err, EINVAL, "\"%s\" is not a MIG instance", step->value);
	rc = find(&j, &at, &f);
	return rc ? rc : reach(&j, to, &f);
}

static int change(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	const struct mig_job j = job_of(b, step, ms, err);
	struct found f = { .there = false };
	struct mig_spot to;
	int rc = mig_spot_read(step->value, &to);

	if (rc)
		return fail(err, EINVAL, "\"%s\" is not a MIG instance", step->value);
	if (step->verb != &mig_create)
		rc = find(&j, &to, &f);
	if (f.there)
		mig_spot_print(&f.is, step->former);
	if (!rc && !f.there && step->verb == &mig_compute)
		rc = fail(err, ENOENT, "%s has no MIG instance %s at %u any more; write again",
			  step->dev.name, to.name, to.start);
	if (rc)
		return rc;
	rc = reach(&j, step->verb == &mig_destroy ? NULL : &to, &f);
	if (rc == -ENOSPC && step->verb == &mig_create && !f.made)
		spare_others(&j, &to);
	return rc;
}

#define INSTANCE_VERB(word)                                                                        \
	{                                                                                          \
		.of = "mig", .name = "mig/" word, .deadline_ms = INSTANCE_MS, .records = true,     \
		.partial = true, .lanes = true, .learn = instance_learn, .run = change,            \
		.undo = instance_undo                                                              \
	}

const struct verb mig_create = INSTANCE_VERB("create"), mig_destroy = INSTANCE_VERB("destroy"),
		  mig_compute = INSTANCE_VERB("compute");

bool mig_is_step(const struct step *s)
{
	return s->verb == &mig_mode || s->verb == &mig_create || s->verb == &mig_destroy;
}
