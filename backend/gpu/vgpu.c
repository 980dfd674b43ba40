// SPDX-License-Identifier: GPL-2.0-or-later
/* What a VF of a GPU is asked to be: its profile, and the claim of a vGPU, which binds nothing. */
#include "vgpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/claim.h"
#include "backend/mdev/mdevctl.h"
#include "backend/ops.h"
#include "backend/use.h"
#include "backend/vfio/vfio.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/intent.h"
#include "pcidevfs/model.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/util.h"
#include "types.h"
#include "world.h"

/* Who claims a vGPU for which no name was given, as Harvester's user does. */
#define NOBODY_NAMED "admin"

/* ---- profile */

/* Whoever has the vGPU keeps it; what is none nobody has, though a pod may get it back. */
int vgpu_refuse_change(const struct device *dev, const struct request *request, struct err *err)
{
	int rc = refuse_doubt("", dev, err);

	if (!rc && dev->facts.profile_id[0])
		rc = refuse_holder("", dev, err) ?: refuse_given(dev, err);
	return rc || request->restores ? rc : refuse_coming("", dev, err);
}

/* A guest that ran while the daemon was away keeps its vGPU, untouched. */
static bool holds(const struct device *dev, const char *name)
{
	return name[0] ? types_reads(dev->facts.profile, name) || !strcmp(dev->facts.profile_id, name)
		       : !dev->facts.profile_id[0];
}

/* The driver forgets them with the type. One that others have made has none stored. */
static int plan_params(const struct device *dev, struct plan *plan, struct err *err)
{
	const char *params = dev->intent.vgpu_params[0] ? dev->intent.vgpu_params
							: dev->facts.vgpu_params;

	if (!params[0] || plan_requested(plan, &dev->key, "vgpu_params"))
		return 0;
	return plan_step(plan, &vgpu_params, &dev->key, params, err);
}

/* It is what it is to be; its parameters may be missing, after an interrupted operation. */
static int plan_rest(const struct device *dev, struct plan *plan, struct err *err)
{
	if (!dev->facts.profile_id[0] || dev->facts.vgpu_params[0] || refuse_holder("", dev, NULL))
		return 0;
	return plan_params(dev, plan, err);
}

static int find_change(struct model *m, const struct device *dev, const struct request *request,
		       struct vgpu_type *ret, struct err *err)
{
	int rc = vgpu_refuse_change(dev, request, err);

	return rc || !request->value[0] ? rc : vgpu_find_type(m, dev, request->value, ret, err);
}

/* Of one that was left half done nobody knows whether it works. */
static bool stays(const struct device *dev, const struct request *request)
{
	return holds(dev, request->value) && !dev->stuck[0];
}

/* An undo makes it again with its parameters; of one that others have made only a step knows them. */
static int plan_end(const struct device *dev, struct plan *plan, struct err *err)
{
	int rc = 0;

	if (dev->facts.vgpu_params[0] && !dev->intent.vgpu_params[0])
		rc = plan_step(plan, &vgpu_params, &dev->key, "", err);
	return rc ? rc : plan_step(plan, &vgpu_profile, &dev->key, "", err);
}

static int profile_end(struct model *m, const struct device *dev, const struct request *request,
		       struct plan *plan, struct err *err)
{
	struct vgpu_type type;
	int rc;

	if (!dev->facts.profile_id[0] || stays(dev, request))
		return 0;
	rc = plan_touch(plan, &dev->key, err) ?: mdevctl_refuse(dev, err);
	rc = rc ? rc : find_change(m, dev, request, &type, err);
	return rc ? rc : plan_end(dev, plan, err);
}

static int plan_begin(struct model *m, const struct device *dev, const struct vgpu_type *type,
		     struct plan *plan, struct err *err)
{
	bool sure;
	int rc = vgpu_find_room(m, dev, type, plan, &sure, err);

	rc = rc ? rc : plan_step(plan, &vgpu_profile, &dev->key, type->name, err);
	if (!rc)
		plan->steps[plan->n_steps - 1].expected = !sure;
	return rc;
}

static int profile_expand(struct model *m, const struct device *dev, const struct request *request,
			  struct plan *plan, struct err *err)
{
	struct vgpu_type type = { .name = "" };
	int rc = plan_touch(plan, &dev->key, err);

	if (!rc && request->value[0] && !(dev->intent.claim[0] && holds(dev, request->value)))
		rc = mdevctl_refuse(dev, err);
	if (!rc && stays(dev, request))
		return plan_rest(dev, plan, err);
	rc = rc ? rc : find_change(m, dev, request, &type, err);
	if (!rc && !request->value[0])
		return plan_end(dev, plan, err);
	rc = rc ? rc : plan_begin(m, dev, &type, plan, err);
	return rc ? rc : plan_params(dev, plan, err);
}

/* What is to be of it may depend on the types of its card. */
static int profile_predict(struct model *m, const struct device *card,
			   const struct request *request, struct plan *plan, struct err *err)
{
	int rc = request->value[0] && card ? vgpu_refuse_foreseen(m, card, request, plan, err) : 0;

	return rc || !request->value[0]
		       ? rc
		       : plan_step(plan, &vgpu_profile, &request->dev, request->value, err);
}

static bool others_have(struct model *m, const struct device *self, const char *uuid)
{
	const struct device *dev;
	struct key key;
	size_t pos = 0;

	if (key_make(BUS_MDEV, uuid, &key) && model_find(m, &key))
		return true;
	while ((dev = model_next(m, &pos)))
		if (!key_eq(&dev->key, &self->key) && !strcmp(dev->facts.mdev, uuid))
			return true;
	return false;
}

/* The UUID of its mediated device must be on the disk before the device is. It keeps it from then
 * on, unless somebody has given it to another one meanwhile. */
static int profile_prepare(struct model *m, struct device *dev, const struct request *request,
			   struct err *err)
{
	if (dev->facts.mdev[0])
		STR_COPY(dev->intent.mdev, dev->facts.mdev);
	else if (request->value[0] &&
		 (!dev->intent.mdev[0] || others_have(m, dev, dev->intent.mdev)))
		key_random_uuid(dev->intent.mdev);
	return 0;
}

void vgpu_note(struct model *m, struct device *dev, const struct request *request)
{
	_free_ struct vgpu_types *types = types_noted(m, dev);
	const struct vgpu_type *t = types ? types_find(types, dev->facts.profile_id, NULL) : NULL;
	struct intent *w = &dev->intent;

	STR_COPY(w->profile, t ? types_word(types, t) : dev->facts.profile);
	STR_COPY(w->last_profile, w->profile);
	STR_COPY(w->pinned, dev->names.resource);
	if (dev->facts.mdev[0])
		STR_COPY(w->mdev, dev->facts.mdev);
	if (dev->facts.vgpu_params[0]) /* of one that others have made */
		STR_COPY(w->vgpu_params, dev->facts.vgpu_params);
	/* Who has a restored one is stored, and restored next. */
	if (!w->claim[0] && !device_is_coming(dev) && !request->restores)
		STR_COPY(w->claim, NOBODY_NAMED);
}

static void end_intents(struct device *dev)
{
	intent_end_claim(&dev->intent);
	dev->intent.profile[0] = dev->intent.vgpu_params[0] = '\0';
	dev->intended[0] = '\0';
}

static int profile_settle(struct model *m, struct device *dev, const struct request *request,
			  struct err *err)
{
	if (!holds(dev, request->value))
		return fail(err, EIO,
			    "%s is %s and not %s although the kernel reported success; dmesg may "
			    "say why",
			    dev->key.name, dev->facts.profile[0] ? dev->facts.profile : "not a vGPU",
			    request->value[0] ? request->value : "none");
	if (request->value[0])
		vgpu_note(m, dev, request);
	else
		end_intents(dev);
	return 0;
}

/* Behind the VFs, before the claims. */
static const struct method profile_method = {
	.file = "profile",
	.bus = BUS_PCI,
	.rank = 60,
	.guarded = true,
	.caps = CAP_VGPU,
	.down = request_is_none,
	.end = profile_end,
	.expand = profile_expand,
	.predict = profile_predict,
	.prepare = profile_prepare,
	.settle = profile_settle,
};

/* ---- its parameters */

/* The driver takes them only while no VM runs. */
static int params_expand(struct model *m, const struct device *dev, const struct request *request,
			 struct plan *plan, struct err *err)
{
	const struct request *profile = plan_requested(plan, &dev->key, "profile");
	int rc = plan_touch(plan, &dev->key, err);

	if (rc || (!profile && !strcmp(dev->facts.vgpu_params, request->value)))
		return rc;
	if (profile ? !profile->value[0] : !dev->facts.profile_id[0])
		return fail(err, EOPNOTSUPP,
			    "%s is not a vGPU, and has no parameters; write its profile first",
			    dev->key.name);
	rc = vgpu_refuse_change(dev, request, err);
	return rc ? rc : plan_step(plan, &vgpu_params, &dev->key, request->value, err);
}

static int params_predict(struct model *m, const struct device *card,
			  const struct request *request, struct plan *plan, struct err *err)
{
	return request->value[0] ? plan_step(plan, &vgpu_params, &request->dev, request->value, err)
				 : 0;
}

static int params_settle(struct model *m, struct device *dev, const struct request *request,
			 struct err *err)
{
	if (strcmp(dev->facts.vgpu_params, request->value))
		return fail(err, EIO,
			    "vgpu_params of %s reads \"%s\" although the kernel reported success",
			    dev->key.name, dev->facts.vgpu_params);
	STR_COPY(dev->intent.vgpu_params, request->value);
	return 0;
}

static const struct method params_method = {
	.file = "vgpu_params",
	.bus = BUS_PCI,
	.rank = 62,
	.guarded = true,
	.caps = CAP_VGPU,
	.expand = params_expand,
	.predict = params_predict,
	.settle = params_settle,
};

/* ---- the claim of a vGPU */

static bool claim_fits(const struct device *dev)
{
	return dev->facts.caps & CAP_VGPU;
}

static bool claim_fits_child(const struct device *pf)
{
	return pf->facts.own_vfs && pf->caps & CAP_ENABLE;
}

/* Only what the transaction itself does with the profile is in the way, and who has the vGPU under
 * its present name. The first claim of a vGPU has no name yet. */
static int refuse_claim(const struct device *dev, const char *who, bool restores,
			const struct plan *plan, struct err *err)
{
	const struct request *profile = plan_requested(plan, &dev->key, "profile");
	const char *claim = dev->intent.claim;
	int rc = refuse_doubt("", dev, err);

	if (!rc && !claim[0])
		rc = mdevctl_refuse(dev, err);
	if (rc)
		return rc;
	if (profile ? !profile->value[0] : !dev->facts.profile_id[0])
		return fail(err, EOPNOTSUPP,
			    "%s is not a vGPU yet: write a name from profiles to profile; that also "
			    "claims it",
			    dev->key.name);
	if (!restores && strcmp(dev->intended, who))
		rc = refuse_coming("", dev, err);
	if (rc || !claim[0] || !strcmp(claim, who) || !strcmp(claim, NOBODY_NAMED))
		return rc;
	return refuse_holder("", dev, err) ?: refuse_given(dev, err);
}

static int claim_expand(struct model *m, const struct device *dev, const struct request *request,
			struct plan *plan, struct err *err)
{
	int rc;

	if (!request->value[0] && !dev->intent.claim[0])
		return 0;
	/* It goes on as mdevctl's. */
	if (!request->value[0] && dev->facts.mdevctl[0]) {
		rc = plan_touch(plan, &dev->key, err);
		return rc ? rc : vgpu_refuse_change(dev, request, err);
	}
	if (!request->value[0])
		return fail(err, EINVAL,
			    "%s is a vGPU, which is claimed as long as it is one; write none to "
			    "its profile",
			    dev->key.name);
	rc = refuse_claim(dev, request->value, request->restores, plan, err);
	rc = rc ? rc : plan_touch(plan, &dev->key, err);
	if (rc || !dev->intent.owned)
		return rc;
	return plan_step(plan, &vfio_own, &dev->key, "", err);
}

static int claim_settle(struct model *m, struct device *dev, const struct request *request,
			struct err *err)
{
	if (!request->value[0]) {
		end_intents(dev);
		return 0;
	}
	if (!dev->facts.profile_id[0])
		return fail(err, EIO, "%s is not a vGPU any more; write its profile again",
			    dev->key.name);
	if (!dev->facts.nodes[0])
		return fail(err, EIO,
			    "%s is a vGPU, but its node in /dev/vfio is not there; check that udev "
			    "or devtmpfs is running",
			    dev->key.name);
	STR_COPY(dev->intent.claim, request->value);
	dev->intended[0] = '\0';
	vgpu_note(m, dev, request);
	return 0;
}

/* Somebody who claims nothing yet. */
static int claim_refuse(struct model *m, const struct device *dev, struct err *err)
{
	static const struct plan alone;

	return refuse_claim(dev, "?", false, &alone, err);
}

/* Of VFs, and of mediated devices, which are vGPUs as long as they exist. */
const struct claim_ops vgpu_claim = {
	.fits = claim_fits,
	.fits_child = claim_fits_child,
	.expand = claim_expand,
	.settle = claim_settle,
	.give_nodes = vfio_give_nodes,
	.refuse = claim_refuse,
};

static const struct method *const methods[] = { &profile_method, &params_method, NULL };
static const struct verb *const verbs[] = { &vgpu_profile, &vgpu_params, NULL };

const struct backend_ops vgpu_ops = {
	.name = "vgpu",
	.help = "vGPUs of a GPU's VFs, by mediated devices or by the VFs themselves",
	.methods = methods,
	.verbs = verbs,
	.extra = vgpu_extra,
	.after_scan = types_after_scan,
	.noted = types_noted,
};
