// SPDX-License-Identifier: GPL-2.0-or-later
/* The number of VFs of a PF: a pure plan by the kernel's rules, with guards that it lacks. */
#include "sriov.h"

#include <errno.h>
#include <string.h>

#include "backend/gpu/mig_steps.h"
#include "backend/gpu/settings.h"
#include "backend/gpu/vgpu.h"
#include "backend/ops.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/intent.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "backend/vfio/vfio.h"
#include "backend/use.h"

/* One PF, its present VFs, and the requested number. */
struct pf {
	struct model *m;
	const struct device *dev;
	const struct request *request;
	const struct device *vfs[VFS_MAX];
	size_t n_vfs;
	unsigned int asked;
};

static unsigned int asked_for(const struct request *request)
{
	uint64_t n = 0;

	/* The row's store has checked it. */
	parse_u64(request->value, UINT16_MAX, &n);
	return (unsigned int)n;
}

/* Its driver's own tool makes all of them, or none. */
static bool has_asked(const struct device *pf, unsigned int asked)
{
	return pf->facts.own_vfs ? !asked == (pf->facts.num_vfs <= 0)
				 : (int64_t)asked == pf->facts.num_vfs;
}

static int refuse_driver(const struct pf *pf, struct err *err)
{
	const struct facts *f = &pf->dev->facts;
	const char *name = pf->dev->key.name;

	if (f->own_vfs && !(pf->dev->caps & CAP_ENABLE))
		return fail(err, EOPNOTSUPP,
			    "%s makes no VFs for vGPUs: the card or its firmware does not offer them",
			    name);
	if (f->own_vfs && pf->asked && (int64_t)pf->asked != f->total_vfs)
		return fail(
			err, EOPNOTSUPP,
			"the driver of %s makes its VFs itself, all %d of them; write 1 to enabled",
			name, f->total_vfs);
	if (f->use == USE_GUEST)
		return fail(err, EOPNOTSUPP,
			    "%s is on %s, which makes no VFs; give it back to its own driver first",
			    name, f->driver);
	if (f->driver[0])
		return 0;
	if (f->num_vfs > 0)
		return fail(
			err, EOPNOTSUPP,
			"the driver of %s was removed and has left its %d VFs behind; bind a "
			"driver that makes VFs before you change their number",
			name, f->num_vfs);
	return fail(err, EOPNOTSUPP,
		    "%s has no driver, and only its driver can make VFs; bind one first", name);
}

static int refuse_pf(const struct pf *pf, const struct plan *plan, struct err *err)
{
	const struct device *dev = pf->dev;
	const struct request *claim = plan_requested(plan, &dev->key, "claim");

	if (pf->asked && claim && claim->value[0])
		return fail(err, EBUSY, "%s cannot have VFs and be claimed by %s at once",
			    dev->key.name, claim->value);
	/* By then it has its own driver again; the step finds out which. */
	if (vfio_released(pf->m, plan, dev))
		return 0;
	if (device_is_allocated(dev))
		return refuse_holder("", dev, err);
	if (device_is_coming(dev) && !pf->request->restores)
		return refuse_coming("", dev, err);
	if (dev->intent.claim[0])
		return fail(err, EBUSY, "%s is claimed by %s; write none to its claim first",
			    dev->key.name, dev->intent.claim);
	return refuse_driver(pf, err);
}

int sriov_refuse_vf(const struct device *pf, const struct device *vf, bool force, struct err *err)
{
	char before[96];

	snprintf(before, sizeof(before), "virtfn%d of %s: ", vf->facts.index, pf->key.name);
	if (vf->facts.critical[0] && vf->facts.use != USE_GUEST && !force)
		return fail(
			err, EPERM,
			"%sthe host needs %s: %s; the VFs stay unless ctl has a line \"force %s\"",
			before, vf->key.name, vf->facts.critical, pf->key.name);
	/* A vGPU that nobody uses is ended by the steps before, and comes back with the VF; what an
	 * undo has made of one is not known yet. */
	return vf->caps & CAP_VGPU ? refuse_holder(before, vf, err) : refuse_used(before, vf, err);
}

static bool keeps_claim(const struct pf *pf, const struct device *vf, const struct plan *plan)
{
	return vf->intent.claim[0] && !vfio_released(pf->m, plan, vf);
}

static int refuse_vf(const struct pf *pf, const struct device *vf, const struct plan *plan,
		     struct err *err)
{
	char before[96];

	snprintf(before, sizeof(before), "virtfn%d of %s: ", vf->facts.index, pf->dev->key.name);
	if (device_is_coming(vf) && !pf->request->restores)
		return refuse_coming(before, vf, err);
	/* Nobody can release a VF that a pod has, so that is reported first. */
	if (!(vf->caps & CAP_VGPU) && !device_is_allocated(vf) && keeps_claim(pf, vf, plan))
		return fail(err, EBUSY,
			    "virtfn%d of %s: %s is claimed by %s; write none to its claim first",
			    vf->facts.index, pf->dev->key.name, vf->key.name, vf->intent.claim);
	return sriov_refuse_vf(pf->dev, vf, pf->request->force, err);
}

static int refuse(const struct pf *pf, const struct plan *plan, struct err *err)
{
	int rc = refuse_doubt("", pf->dev, err);

	if (rc)
		return rc;
	if ((int64_t)pf->asked > pf->dev->facts.total_vfs)
		return fail(err, ERANGE, "sriov_numvfs: %u asked, %s has at most %d", pf->asked,
			    pf->dev->key.name, pf->dev->facts.total_vfs);
	if (pf->asked > VFS_MAX)
		return fail(err, EOPNOTSUPP,
			    "sriov_numvfs: %u asked for %s; pcidevfs handles at most %d VFs of one "
			    "device",
			    pf->asked, pf->dev->key.name, VFS_MAX);
	if (pf->n_vfs > VFS_MAX)
		return fail(err, EOPNOTSUPP,
			    "%s has %zu VFs, and pcidevfs handles at most %d of one device; remove "
			    "them in the way they were made",
			    pf->dev->key.name, pf->n_vfs, VFS_MAX);
	rc = refuse_pf(pf, plan, err);
	for (size_t i = 0; i < pf->n_vfs && !rc; i++)
		rc = refuse_vf(pf, pf->vfs[i], plan, err);
	return rc;
}

bool sriov_claim_stored(const struct intent *pf, unsigned int n)
{
	return n < INTENT_VFS && pf->vf_claims[n / 64] >> n % 64 & 1;
}

/* Is virtfn<n> for a guest, by a claim in this transaction or a stored one? vf: the device or
 * NULL. */
static bool is_for_guest(const struct pf *pf, unsigned int n, const struct device *vf,
			 const struct plan *plan)
{
	const struct request *request = vf ? plan_requested(plan, &vf->key, "claim")
				     : plan_requested_child(plan, &pf->dev->key, n, "claim");

	if (request)
		return request->value[0];
	if (sriov_claim_stored(&pf->dev->intent, n))
		return true;
	return vf && keeps_claim(pf, vf, plan);
}

/* Claimed VFs are left alone; only the others are probed. More than VFS_MAX are refused. */
static bool any_claimed(const struct pf *pf, const struct plan *plan)
{
	for (size_t i = 0; pf->n_vfs <= VFS_MAX && i < pf->n_vfs; i++)
		if (keeps_claim(pf, pf->vfs[i], plan))
			return true;
	return false;
}

static bool any_for_guest(const struct pf *pf, const struct plan *plan)
{
	for (unsigned int n = 0; n < pf->asked; n++)
		if (is_for_guest(pf, n, model_child(pf->m, &pf->dev->key, n), plan))
			return true;
	return false;
}

static int touch(const struct pf *pf, struct plan *plan, struct err *err)
{
	int rc = plan_touch(plan, &pf->dev->key, err);

	for (size_t i = 0; i < pf->n_vfs && !rc; i++)
		rc = plan_touch(plan, &pf->vfs[i]->key, err);
	return rc;
}

static int plan_set_number(const struct pf *pf, const char *number, struct plan *plan,
			   struct err *err)
{
	const struct verb *verb = pf->dev->facts.own_vfs ? &sriov_manage : &sriov_set_numvfs;
	struct mig were = { 0 };
	int rc = 0;

	/* The driver keeps the VFs of a card that has vGPUs. */
	for (size_t i = 0; i < pf->n_vfs && !rc; i++)
		if (pf->vfs[i]->facts.profile_id[0])
			rc = plan_step(plan, &vgpu_profile, &pf->vfs[i]->key, "", err);
	rc = rc ? rc
		: mig_plan_away(pf->m, pf->dev, "all are lost when its VFs come or go", plan,
				&were, err);
	rc = rc ? rc : settings_plan_away(pf->dev, plan, err);
	rc = rc ? rc
		: plan_step_forced(plan, verb, &pf->dev->key, number, pf->request->force, err);
	rc = rc || !strcmp(number, "0") ? rc : settings_plan_back(pf->dev, plan, err);
	return rc ? rc : mig_plan_back(pf->dev, &were, plan, err);
}

static int plan_make_vfs(const struct pf *pf, struct plan *plan, struct err *err)
{
	const struct facts *f = &pf->dev->facts;
	bool ours = pf->dev->intent.autoprobe_off;
	/* Guests' VFs must not meet a host driver; only their own can make vGPUs of them. */
	bool off = !ours && !f->own_vfs && f->autoprobe && any_for_guest(pf, plan);
	char text[16];
	int rc = 0;

	if (off)
		rc = plan_step(plan, &sriov_set_autoprobe, &pf->dev->key, "0", err);
	snprintf(text, sizeof(text), "%u", pf->asked);
	rc = rc ? rc : plan_set_number(pf, text, plan, err);
	if (rc || !(off || ours))
		return rc;
	/* The new VFs are only known then. */
	plan->more = true;
	return plan->predict ? plan_step(plan, &sriov_set_autoprobe, &pf->dev->key, "1", err) : 0;
}

/* N to M goes through 0, and the plan continues from there: the new VFs are other devices. */
static int plan_number(const struct pf *pf, struct plan *plan, struct err *err)
{
	int rc;

	if (pf->dev->facts.num_vfs > 0) {
		rc = plan_set_number(pf, "0", plan, err);
		plan->more |= pf->asked;
		if (!rc && !pf->asked && pf->dev->intent.autoprobe_off)
			return plan_step(plan, &sriov_set_autoprobe, &pf->dev->key, "1", err);
		if (rc || !pf->asked || !plan->predict)
			return rc;
	}
	return plan_make_vfs(pf, plan, err);
}

/*
 * The VFs were made with autoprobe off. A driver loaded only now, because of them, would take the
 * guests' VFs as soon as autoprobe is on, so their override is set first. The others need autoprobe
 * on: with 0 the kernel binds no VF without an override. After a killed process the next one probes
 * those that are left.
 */
static int plan_probe(const struct pf *pf, struct plan *plan, struct err *err)
{
	bool off = pf->dev->intent.autoprobe_off;
	int rc = off ? touch(pf, plan, err) : 0;

	for (size_t i = 0; i < pf->n_vfs && off && !rc; i++)
		if (is_for_guest(pf, (unsigned int)pf->vfs[i]->facts.index, pf->vfs[i], plan))
			rc = vfio_plan_override(pf->vfs[i], plan, err);
	if (off && !rc)
		rc = plan_step(plan, &sriov_set_autoprobe, &pf->dev->key, "1", err);
	for (size_t i = 0; i < pf->n_vfs && !rc; i++)
		if ((off || pf->vfs[i]->intent.unprobed) && !pf->vfs[i]->facts.driver[0] &&
		    !is_for_guest(pf, (unsigned int)pf->vfs[i]->facts.index, pf->vfs[i], plan))
			rc = plan_step(plan, &vfio_probe, &pf->vfs[i]->key, "", err);
	return rc;
}

static int numvfs_expand(struct model *m, const struct device *dev, const struct request *request,
			 struct plan *plan, struct err *err)
{
	struct pf pf = { .m = m,
			 .dev = dev,
			 .request = request,
			 .asked = asked_for(request) };
	bool anew;
	int rc;

	pf.n_vfs = model_children(m, &request->dev, BUS_PCI, pf.vfs, VFS_MAX);
	/* After an interrupted operation the number may match although the VFs are incomplete.
	 * Restore knows what it does. */
	anew = pf.asked && pf.dev->stuck[0] && !request->restores && !any_claimed(&pf, plan);
	if (has_asked(pf.dev, pf.asked) && !anew)
		return pf.n_vfs <= VFS_MAX && !pf.dev->facts.own_vfs ? plan_probe(&pf, plan, err)
								      : 0;
	rc = refuse(&pf, plan, err);
	rc = rc ? rc : touch(&pf, plan, err);
	return rc ? rc : plan_number(&pf, plan, err);
}

static int numvfs_settle(struct model *m, struct device *pf, const struct request *request,
			 struct err *err)
{
	unsigned int asked = asked_for(request);

	if (!has_asked(pf, asked))
		return fail(
			err, EIO,
			"%s has %d VFs and not %u although the kernel reported success; dmesg may "
			"say why",
			pf->key.name, pf->facts.num_vfs, asked);
	if (asked && !pf->intent.claim[0]) /* left by a claim that could not be restored */
		intent_end_claim(&pf->intent);
	/* 0 is the initial state, so nothing is stored. */
	pf->intent.vfs_wanted = asked;
	pf->intent.num_vfs = asked ? pf->facts.num_vfs : 0;
	return 0;
}

static bool numvfs_down(struct model *m, const struct request *request)
{
	const struct device *pf = model_find(m, &request->dev);

	return pf && (int64_t)asked_for(request) < pf->facts.num_vfs;
}

static bool numvfs_brings(const struct request *request, unsigned int n)
{
	return n < asked_for(request);
}

/* Every VF has these; further capabilities are known when it exists. */
static int numvfs_foresee(const struct device *pf, int32_t index, struct device *ret,
			  struct err *err)
{
	if (index >= pf->facts.total_vfs)
		return fail(err, ERANGE, "virtfn%d asked, %s has at most %d VFs", index,
			    pf->key.name, pf->facts.total_vfs);
	ret->caps = CAP_PCI | CAP_CLAIM | CAP_NAMED | CAP_VF | CAP_GROUP | (pf->caps & CAP_NIC);
	ret->kind = KIND_VF;
	if (pf->facts.own_vfs && pf->caps & CAP_ENABLE) {
		ret->caps |= CAP_VGPU | CAP_ENABLE | CAP_TYPES;
		ret->kind = KIND_VGPU;
	}
	return 0;
}

/* Before all requests for VFs. */
static const struct method numvfs = {
	.file = "sriov_numvfs",
	.bus = BUS_PCI,
	.rank = 50,
	.barrier = true,
	.guarded = true,
	.told = true,
	.caps = CAP_SRIOV,
	.down = numvfs_down,
	.expand = numvfs_expand,
	.brings = numvfs_brings,
	.foresee = numvfs_foresee,
	.settle = numvfs_settle,
};

static const struct method *const methods[] = { &numvfs, NULL };
static const struct verb *const verbs[] = { &sriov_set_numvfs, &sriov_set_autoprobe, &sriov_manage,
					    NULL };

const struct backend_ops sriov_ops = {
	.name = "sriov",
	.help = "virtual functions that the kernel makes for a PF",
	.methods = methods,
	.verbs = verbs,
};
