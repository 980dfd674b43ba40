// SPDX-License-Identifier: GPL-2.0-or-later
/* MIG of a card behind a plan, who is in the way of a change, and the mode. The card is never
 * reset. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "backend/ops.h"
#include "backend/use.h"
#include "mig_plan.h"
#include "mig_steps.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/util.h"
#include "vgpu.h"

/* ---- the card behind a plan */

static struct mig_instance *find_at(struct mig *m, unsigned int id, unsigned int start)
{
	for (size_t i = 0; i < m->n_instances; i++)
		if (m->profiles[m->instances[i].profile].id == id && m->instances[i].start == start)
			return &m->instances[i];
	return NULL;
}

static void take_away(struct mig *m, const struct mig_spot *s)
{
	struct mig_instance *i = find_at(m, s->id, s->start);

	if (i)
		memmove(i, i + 1, (size_t)(&m->instances[m->n_instances--] - i - 1) * sizeof(*i));
}

static void add(struct mig *m, const struct mig_spot *s)
{
	struct mig_instance *i = &m->instances[m->n_instances];
	unsigned int p = 0;

	while (p < m->n_profiles && m->profiles[p].id != s->id)
		p++;
	if (p == m->n_profiles || m->n_instances == MIG_INSTANCES)
		return;
	*i = (struct mig_instance){ .id = UINT_MAX, .profile = p, .start = s->start };
	memcpy(i->computes, s->computes, sizeof(i->computes));
	i->computes[m->profiles[p].compute] += i->computes[0];
	i->computes[0] = 0;
	m->n_instances++;
}

static void take_step(struct mig *m, const struct step *s, const struct key *card)
{
	struct mig_spot spot;

	if (step_remakes(s, card))
		m->n_instances = 0;
	else if (!key_eq(&s->dev, card))
		return;
	else if (s->verb == &mig_mode)
		m->current = m->pending = s->value[0] == '1';
	else if (s->verb == &mig_destroy && !mig_spot_read(s->value, &spot))
		take_away(m, &spot);
	else if (s->verb == &mig_create && !mig_spot_read(s->value, &spot))
		add(m, &spot);
}

static bool ends_vgpu(const struct plan *plan, const struct key *vf)
{
	for (size_t i = 0; plan && i < plan->n_steps; i++)
		if (plan->steps[i].verb == &vgpu_profile && key_eq(&plan->steps[i].dev, vf))
			return true;
	return false;
}

/* The driver tells only of those whose VM runs. */
static void use_by_vgpus(struct model *m, const struct device *dev, const struct plan *plan,
			 struct mig *mig)
{
	const struct device *vfs[INTENT_VFS];
	size_t n = model_children(m, &dev->key, BUS_NONE, vfs, INTENT_VFS);

	for (size_t i = 0; i < n && i < INTENT_VFS; i++)
		for (size_t k = 0; k < mig->n_instances; k++) {
			struct mig_instance *in = &mig->instances[k];

			if (!vfs[i]->facts.profile_id[0] ||
			    vfs[i]->facts.gpu_instance_id != (int64_t)in->id ||
			    ends_vgpu(plan, &vfs[i]->key))
				continue;
			in->used = true;
			snprintf(in->user, sizeof(in->user), "vGPU %.40s", vfs[i]->key.name);
		}
}

int mig_behind(struct model *m, const struct device *dev, const struct plan *plan, struct mig *ret)
{
	int rc = mig_of(m, dev, ret);

	if (rc)
		return rc;
	use_by_vgpus(m, dev, plan, ret);
	for (size_t i = 0; plan && i < plan->n_steps; i++)
		take_step(ret, &plan->steps[i], &dev->key);
	return 0;
}

/* ---- who is in the way */

int mig_refuse(const struct device *dev, const struct request *request, struct err *err)
{
	int rc = refuse_doubt("", dev, err);

	if (!rc && !request->restores)
		rc = refuse_coming("", dev, err);
	if (rc || (!dev->intent.claim[0] && dev->facts.use != USE_GUEST))
		return rc;
	return fail(err, EBUSY, "%s is passed through as a whole; write none to its claim first",
		    dev->key.name);
}

int mig_refuse_unknown(const struct device *dev, const char *what, struct err *err)
{
	if (dev->facts.mig_lack[0])
		return fail(err, EOPNOTSUPP, "%s of %s cannot be changed now: %s", what,
			    dev->key.name, dev->facts.mig_lack);
	return fail(err, EAGAIN, "what the driver of %s tells of %s is not known yet; write again",
		    dev->key.name, what);
}

int mig_refuse_instance(const struct mig *m, const struct mig_instance *in, const char *what,
			struct err *err)
{
	if (!in->used)
		return 0;
	return fail(err, EBUSY, "MIG instance %u (%s) is used by %s, and %s; end that first",
		    in->id, m->profiles[in->profile].name, in->user, what);
}

/* ---- steps for an instance */

struct mig_spot mig_spot_of(const struct mig *m, unsigned int profile, unsigned int start,
			    const uint8_t computes[static MIG_SLICES])
{
	const struct mig_profile *p = &m->profiles[profile];
	struct mig_spot s = { .id = p->id, .start = start, .size = p->size };

	STR_COPY(s.name, p->name);
	memcpy(s.computes, computes, sizeof(s.computes));
	s.computes[0] = s.computes[p->compute];
	s.computes[p->compute] = 0;
	return s;
}

int mig_plan_spot(struct plan *plan, const struct verb *verb, const struct device *dev,
		  const struct mig_spot *s, struct err *err)
{
	char text[STEP_VALUE];

	mig_spot_print(s, text);
	return plan_step(plan, verb, &dev->key, text, err);
}

static int plan_instance(struct plan *plan, const struct verb *verb, const struct device *dev,
			 const struct mig *m, const struct mig_instance *in, struct err *err)
{
	const struct mig_spot s = mig_spot_of(m, in->profile, in->start, in->computes);

	return mig_plan_spot(plan, verb, dev, &s, err);
}

int mig_plan_removal(struct plan *plan, const struct device *dev, const struct mig *m,
		     const struct mig_instance *in, struct err *err)
{
	static const uint8_t whole[MIG_SLICES] = { 1 };
	struct mig_spot s = mig_spot_of(m, in->profile, in->start, in->computes);

	memcpy(s.computes, whole, sizeof(whole)); /* the step finds out which there are */
	return mig_plan_spot(plan, &mig_destroy, dev, &s, err);
}

static int plan_removals(struct plan *plan, const struct device *dev, const struct mig *m,
			 const char *what, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < m->n_instances && !rc; i++)
		rc = mig_refuse_instance(m, &m->instances[i], what, err);
	for (size_t i = 0; i < m->n_instances && !rc; i++)
		rc = mig_plan_removal(plan, dev, m, &m->instances[i], err);
	return rc;
}

/* Whoever has the whole card has no instances, whatever the driver told before. */
static bool is_claimed(const struct device *dev, const struct plan *plan)
{
	const struct request *claim = plan_requested(plan, &dev->key, "claim");

	return claim ? claim->value[0] : dev->intent.claim[0];
}

int mig_plan_away(struct model *m, const struct device *dev, const char *what, struct plan *plan,
		  struct mig *ret_were, struct err *err)
{
	if (!(dev->caps & CAP_MIG) || is_claimed(dev, plan) ||
	    mig_behind(m, dev, plan, ret_were)) {
		ret_were->n_instances = 0;
		return 0;
	}
	return plan_removals(plan, dev, ret_were, what, err);
}

int mig_plan_again(const struct device *dev, const struct mig *were, struct plan *plan,
		   struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < were->n_instances && !rc; i++)
		rc = plan_instance(plan, &mig_create, dev, were, &were->instances[i], err);
	return rc;
}

int mig_plan_back(const struct device *dev, const struct mig *were, struct plan *plan,
		  struct err *err)
{
	const struct request *mode = plan_requested(plan, &dev->key, "mig/mode");

	if (plan_requested(plan, &dev->key, "mig/layout") || (mode && mode->value[0] == '0'))
		return 0;
	return mig_plan_again(dev, were, plan, err);
}

/* ---- mig/mode */

bool mig_asks_on(const struct request *request)
{
	return request->value[0] == '1';
}

bool mig_loses_vfs(const struct plan *plan, const struct device *dev)
{
	const struct request *vfs = plan_requested(plan, &dev->key, "sriov_numvfs");

	return vfs && !strcmp(vfs->value, "0");
}

/* NVML would only say that somebody uses the card (spec/nvml.md 5). */
static int refuse_mode(struct model *m, const struct device *dev, const struct request *request,
		       const struct plan *plan, struct err *err)
{
	const struct device *vfs[INTENT_VFS];
	size_t n = model_children(m, &dev->key, BUS_NONE, vfs, INTENT_VFS);
	const char *name = dev->key.name;
	int rc = mig_refuse(dev, request, err) ?: refuse_holder("", dev, err);

	if (rc || mig_loses_vfs(plan, dev))
		return rc;
	for (size_t i = 0; i < n && i < INTENT_VFS; i++)
		if (vfs[i]->facts.profile_id[0])
			return fail(
				err, EBUSY,
				"MIG mode of %s changes only without vGPUs, and %s is %s; write 0 "
				"to enabled of %s first",
				name, vfs[i]->key.name, vfs[i]->facts.profile, name);
	if (dev->facts.num_vfs <= 0)
		return 0;
	return fail(
		err, EBUSY,
		"MIG mode of %s changes only without VFs, and it has %d; write 0 to its enabled "
		"first",
		name, dev->facts.num_vfs);
}

static int mode_expand(struct model *m, const struct device *dev, const struct request *request,
		       struct plan *plan, struct err *err)
{
	int rc = plan_touch(plan, &dev->key, err);
	struct mig mig;

	if (rc)
		return rc;
	rc = mig_refuse(dev, request, err);
	if (!rc && mig_behind(m, dev, plan, &mig))
		rc = mig_refuse_unknown(dev, "MIG", err);
	if (rc || (mig.current == mig_asks_on(request) && mig.pending == mig_asks_on(request)))
		return rc;
	rc = refuse_mode(m, dev, request, plan, err);
	if (!rc && !mig_asks_on(request))
		rc = plan_removals(plan, dev, &mig, "all go with MIG mode", err);
	return rc ? rc : plan_step(plan, &mig_mode, &dev->key, request->value, err);
}

static bool mode_down(struct model *m, const struct request *request)
{
	return !mig_asks_on(request);
}

/* A mode that waits for a reset counts: `reason` tells it. */
static int mode_settle(struct model *m, struct device *dev, const struct request *request,
		       struct err *err)
{
	struct mig mig;

	if (mig_of(m, dev, &mig))
		return mig_refuse_unknown(dev, "MIG", err);
	if (mig.pending != mig_asks_on(request))
		return fail(err, EIO,
			    "MIG mode of %s is %d and not %s although the driver reported success; "
			    "dmesg may say why",
			    dev->key.name, mig.current, request->value);
	/* 0 is the initial state, so nothing is stored. */
	STR_COPY(dev->intent.mig_mode, mig_asks_on(request) ? "1" : "");
	if (!mig_asks_on(request))
		dev->intent.mig_layout[0] = '\0';
	else /* the driver has none of these with MIG (spec/nvml.md 3.2, 3.3) */
		dev->intent.mixed_sizes[0] = dev->intent.scheduler[0] = '\0';
	return 0;
}

/* Before the VFs: the mode changes only without them. */
static const struct method mode_method = {
	.file = "mig/mode",
	.bus = BUS_PCI,
	.rank = 40,
	.barrier = true,
	.guarded = true,
	.told = true,
	.caps = CAP_MIG,
	.down = mode_down,
	.expand = mode_expand,
	.settle = mode_settle,
};

static const struct method *const methods[] = { &mode_method, &mig_layout_method, NULL };
static const struct verb *const verbs[] = { &mig_mode, &mig_create, &mig_destroy, &mig_compute,
					    NULL };

const struct backend_ops mig_ops = {
	.name = "mig",
	.help = "MIG mode and instances of a GPU, by the driver's library NVML",
	.methods = methods,
	.verbs = verbs,
};
