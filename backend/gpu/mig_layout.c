// SPDX-License-Identifier: GPL-2.0-or-later
/* The instances that a card is to have: which stay, go and come. One in use is never touched, nor is
 * one that can stay. */
#include <errno.h>
#include <string.h>

#include "mig_plan.h"
#include "mig_steps.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/util.h"

struct mig_layout {
	struct mig mig;
	struct mig_wanted wanted;
	struct mig_plan fit;
};

static bool asks_none(const struct request *request)
{
	return !request->value[0] || !strcmp(request->value, "none");
}

static int refuse_long(const struct mig_layout *l, struct err *err)
{
	struct out o = { 0 };
	size_t len;

	mig_print_wanted(&l->mig, &l->wanted, &o);
	len = o.len;
	out_free(&o);
	return len < MIG_LAYOUT ? 0
				: fail(err, E2BIG, "a layout has at most %d bytes as it is printed",
				       MIG_LAYOUT - 1);
}

static int refuse_off(const struct device *dev, const struct mig *m, const struct plan *plan,
		      struct err *err)
{
	const struct request *mode = plan ? plan_requested(plan, &dev->key, "mig/mode") : NULL;

	if (mode && !mig_asks_on(mode))
		return fail(
			err, EINVAL,
			"MIG mode of %s is off at the end of this transaction, and then it has no "
			"instances",
			dev->key.name);
	if (m->current)
		return 0;
	if (m->pending)
		return fail(err, EBUSY,
			    "MIG mode of %s comes with a reset of the card or a reboot, which is "
			    "yours to do; write the layout then",
			    dev->key.name);
	return fail(err, EOPNOTSUPP, "MIG mode of %s is off; write 1 to its mig/mode first",
		    dev->key.name);
}

static int read_layout(struct model *m, const struct device *dev, const struct request *request,
		       const struct plan *plan, struct mig_layout *ret, struct err *err)
{
	int rc = 0;

	if (mig_behind(m, dev, plan, &ret->mig))
		return mig_refuse_unknown(dev, "MIG", err);
	if (!asks_none(request))
		rc = refuse_off(dev, &ret->mig, plan, err);
	if (rc || !ret->mig.n_profiles)
		return rc;
	rc = mig_parse(&ret->mig, request->value, &ret->wanted, err);
	rc = rc ? rc : refuse_long(ret, err);
	return rc ? rc : mig_fit(&ret->mig, &ret->wanted, &ret->fit, err);
}

/* Those of one profile: what each has and is to have. */
struct share {
	const struct mig_layout *l;
	unsigned int profile, n;
	uint8_t rows[MIG_INSTANCES][MIG_SLICES];
	bool given[MIG_INSTANCES];   /* a row */
	bool settled[MIG_INSTANCES]; /* an instance of l->mig */
};

static struct share share_of(const struct mig_layout *l, unsigned int profile)
{
	const struct mig_profile *p = &l->mig.profiles[profile];
	struct share s = { .l = l, .profile = profile, .n = l->wanted.n[profile] };

	for (unsigned int i = mig_share(p, l->wanted.computes[profile], s.rows); i < s.n; i++)
		s.rows[i][p->compute] = 1;
	return s;
}

static const struct mig_instance *kept(const struct share *s, size_t i)
{
	const struct mig_instance *in = &s->l->mig.instances[i];

	return s->l->fit.keep[i] && in->profile == s->profile && !s->settled[i] ? in : NULL;
}

/* The first row that nobody has: this one (NULL: any); -1. */
static int free_row(const struct share *s, const uint8_t *row)
{
	for (unsigned int i = 0; i < s->n; i++)
		if (!s->given[i] && (!row || !memcmp(s->rows[i], row, MIG_SLICES)))
			return (int)i;
	return -1;
}

static void give(struct share *s, size_t i, int row)
{
	s->given[row] = s->settled[i] = true;
}

/* Those that have what they are to have; and those in use, of which a guest makes its own compute
 * instances (spec/nvml.md 5). */
static int settle_kept(struct share *s, struct err *err)
{
	const struct mig *m = &s->l->mig;
	uint8_t whole[MIG_SLICES] = { 0 };

	whole[m->profiles[s->profile].compute] = 1;
	for (int used = 0; used < 2; used++)
		for (size_t i = 0; i < m->n_instances; i++) {
			const struct mig_instance *in = kept(s, i);
			int row = in ? free_row(s, used ? whole : in->computes) : -1;

			if (row >= 0 && (!used || in->used))
				give(s, i, row);
			else if (used && in && in->used)
				return mig_refuse_instance(
					m, in, "its compute instances would change", err);
		}
	return 0;
}

static int plan_share(struct share *s, const struct device *dev, struct plan *plan, struct err *err)
{
	const struct mig_layout *l = s->l;
	int rc = settle_kept(s, err);

	for (size_t i = 0; i < l->mig.n_instances && !rc; i++) {
		const struct mig_instance *in = kept(s, i);
		int row = in ? free_row(s, NULL) : -1;
		struct mig_spot spot;

		if (row < 0)
			continue;
		give(s, i, row);
		spot = mig_spot_of(&l->mig, s->profile, in->start, s->rows[row]);
		rc = mig_plan_spot(plan, &mig_compute, dev, &spot, err);
	}
	for (size_t i = 0; i < l->fit.n && !rc; i++) {
		int row = l->fit.add[i].profile == s->profile ? free_row(s, NULL) : -1;
		struct mig_spot spot;

		if (row < 0)
			continue;
		s->given[row] = true;
		spot = mig_spot_of(&l->mig, s->profile, l->fit.add[i].start, s->rows[row]);
		rc = mig_plan_spot(plan, &mig_create, dev, &spot, err);
	}
	return rc;
}

static int plan_away(const struct mig_layout *l, const struct device *dev, struct plan *plan,
		     struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < l->mig.n_instances && !rc; i++)
		if (!l->fit.keep[i])
			rc = mig_plan_removal(plan, dev, &l->mig, &l->mig.instances[i], err);
	return rc;
}

static int plan_layout(const struct mig_layout *l, const struct device *dev, struct plan *plan,
		       struct err *err)
{
	int rc = plan_away(l, dev, plan, err);

	for (unsigned int p = 0; p < l->mig.n_profiles && !rc; p++) {
		struct share s = share_of(l, p);

		rc = plan_share(&s, dev, plan, err);
	}
	return rc;
}

/* The VFs' request ends the vGPUs and takes all instances along, and brings back none of them. */
static bool goes_with_vfs(const struct device *dev, const struct plan *plan)
{
	return dev->facts.num_vfs > 0 && mig_loses_vfs(plan, dev);
}

/* The driver tells no profiles before the mode is on (R550). */
static int plan_untold(const struct device *dev, const struct request *request, struct plan *plan,
		       struct err *err)
{
	char text[STEP_VALUE];

	if (!plan->predict)
		return fail(err, EAGAIN, "the driver of %s tells no MIG profiles yet; write again",
			    dev->key.name);
	str_copy(text, sizeof(text), request->value);
	return plan_step(plan, &mig_create, &dev->key, text, err);
}

static int layout_end(struct model *m, const struct device *dev, const struct request *request,
		      struct plan *plan, struct err *err)
{
	struct mig_layout l = { .fit = { .n = 0 } };
	int rc;

	/* What expand() refuses anyway, or what the mode brings first. */
	if (mig_behind(m, dev, plan, &l.mig) || !l.mig.current || !l.mig.n_instances ||
	    goes_with_vfs(dev, plan))
		return 0;
	rc = mig_refuse(dev, request, err);
	rc = rc ? rc : read_layout(m, dev, request, plan, &l, err);
	rc = rc ? rc : plan_touch(plan, &dev->key, err);
	return rc ? rc : plan_away(&l, dev, plan, err);
}

static int layout_expand(struct model *m, const struct device *dev, const struct request *request,
			 struct plan *plan, struct err *err)
{
	struct mig_layout l = { .fit = { .n = 0 } };
	int rc = plan_touch(plan, &dev->key, err);

	rc = rc ? rc : mig_refuse(dev, request, err);
	if (!rc && asks_none(request) && goes_with_vfs(dev, plan))
		return 0;
	rc = rc ? rc : read_layout(m, dev, request, plan, &l, err);
	if (!rc && !l.mig.n_profiles && !asks_none(request))
		return plan_untold(dev, request, plan, err);
	return rc ? rc : plan_layout(&l, dev, plan, err);
}

static bool layout_down(struct model *m, const struct request *request)
{
	return asks_none(request);
}

static int layout_settle(struct model *m, struct device *dev, const struct request *request,
			 struct err *err)
{
	struct mig_layout l = { .fit = { .n = 0 } };
	struct plan left = { 0 };
	int rc = read_layout(m, dev, request, NULL, &l, err);

	rc = rc ? rc : plan_layout(&l, dev, &left, err);
	if (!rc && left.n_steps)
		rc = fail(
			err, EIO,
			"mig/layout of %s reads %s and not %s although the driver reported success; "
			"dmesg may say why",
			dev->key.name, dev->facts.mig_layout, request->value);
	plan_free(&left);
	if (!rc)
		STR_COPY(dev->intent.mig_layout, asks_none(request) ? "" : dev->facts.mig_layout);
	return rc;
}

/* Behind the VFs, which take all instances along, and before the types, which need them. */
const struct method mig_layout_method = {
	.file = "mig/layout",
	.bus = BUS_PCI,
	.rank = 56,
	.barrier = true,
	.told = true,
	.caps = CAP_MIG,
	.down = layout_down,
	.end = layout_end,
	.expand = layout_expand,
	.settle = layout_settle,
};
