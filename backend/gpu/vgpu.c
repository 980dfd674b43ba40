// SPDX-License-Identifier: GPL-2.0-or-later
/* What a VF of a GPU is asked to be: its profile, and the claim of a vGPU, which binds nothing. */
#include "vgpu.h"

#include <errno.h>
#include <stdio.h>
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

/* Who claims a vGPU for which no name was given, as Harvester's user does. */
#define NOBODY_NAMED "admin"

static int find(struct model *m, const struct request *request, const struct device **ret,
		struct err *err)
{
	*ret = model_find(m, &request->dev);
	return *ret ? 0 : fail(err, ENODEV, "%s is gone", request->dev.name);
}

/* ---- profile */

/* Its driver lists nothing that a vGPU could become. Once it is freed it can have what is as large,
 * what its card has room for as it is, and anything if it is the only one. */
static void list_freed(struct model *m, const struct device *dev, struct vgpu_types *types)
{
	const struct device *vfs[INTENT_VFS], *card = model_parent(m, dev);
	const struct vgpu_type *own = types_find(types, dev->facts.profile_id, NULL);
	_free_ struct vgpu_types *more = calloc(1, sizeof(*more));
	size_t n = card ? model_children(m, &card->key, BUS_PCI, vfs, INTENT_VFS) : 0, vgpus = 0;

	for (size_t i = 0; i < n && i < INTENT_VFS; i++)
		vgpus += vfs[i]->facts.profile_id[0] != '\0';
	if (card && more)
		types_of(m, card, more);
	for (size_t i = 0; i < types->n; i++) {
		struct vgpu_type *t = &types->v[i];
		const struct vgpu_type *now = more ? types_find(more, t->id, NULL) : NULL;

		t->available = t == own || vgpus <= 1 || (now && now->available > 0) ||
			       (own && own->framebuffer_mib > 0 &&
				own->framebuffer_mib == t->framebuffer_mib);
	}
}

static int refuse_unknown(struct model *m, const struct device *dev, struct vgpu_types *types,
			  const char *name, struct err *err)
{
	bool vgpu = device_is_vf(dev) && dev->facts.profile_id[0];
	char possible[TYPES_TEXT];

	if (vgpu)
		list_freed(m, dev, types);
	types_available(types, possible);
	if (!types->n)
		return fail(err, EOPNOTSUPP,
			    "%s offers no vGPU types now: its driver is %s; vgpu_support of %s "
			    "says why",
			    dev->key.name, dev->facts.driver[0] ? dev->facts.driver : "none",
			    dev->facts.parent.name);
	return fail(err, EINVAL, "%s has no vGPU type \"%s\"; possible %s: %s; all are in its profiles",
		    dev->key.name, name, vgpu ? "in place of what it is" : "now", possible);
}

/* Others of the transaction may make room: then the step decides. */
static bool is_alone(const struct plan *plan)
{
	size_t n = 0;

	for (size_t i = 0; i < plan->n_requests; i++)
		n += !strcmp(plan->requests[i].file, "profile");
	return n == 1;
}

int vgpu_refuse_full(const char *dev, const char *type, const char *why,
		     const struct vgpu_types *now, struct err *err)
{
	char possible[TYPES_TEXT];

	types_available(now, possible);
	return fail(err, ENOSPC, "%s cannot become %s: %s; possible now: %s", dev, type,
		    why && why[0] ? why : "its card has no room for it", possible);
}

int vgpu_find_type(struct model *m, const struct device *dev, const char *value, bool now,
		   struct vgpu_type *ret, struct err *err)
{
	_free_ struct vgpu_types *types = types_new();
	const struct vgpu_type *t;
	bool twice;

	if (!types)
		return fail(err, ENOMEM, "no memory for the vGPU types of %s", dev->key.name);
	types_of(m, dev, types);
	t = types_find(types, value, &twice);
	if (!t)
		return refuse_unknown(m, dev, types, value, err);
	if (twice)
		return fail(err, EINVAL,
			    "%s has two vGPU types called \"%s\"; write the id of one, from its "
			    "profiles",
			    dev->key.name, value);
	if (t->available <= 0 && now)
		return vgpu_refuse_full(dev->key.name, t->name, t->why, types, err);
	*ret = *t;
	STR_COPY(ret->name, types_word(types, t)); /* its id, where another has the name */
	return 0;
}

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
	return name[0] ? !strcmp(dev->facts.profile, name) || !strcmp(dev->facts.profile_id, name)
		       : !dev->facts.profile_id[0];
}

/* The driver forgets them with the type. */
static int plan_params(const struct device *dev, struct plan *plan, struct err *err)
{
	if (!dev->intent.vgpu_params[0] || plan_requested(plan, &dev->key, "vgpu_params"))
		return 0;
	return plan_step(plan, &vgpu_params, &dev->key, dev->intent.vgpu_params, err);
}

/* It is what it is to be; its parameters may be missing, after an interrupted operation. */
static int plan_rest(const struct device *dev, struct plan *plan, struct err *err)
{
	if (!dev->facts.profile_id[0] || dev->facts.vgpu_params[0] || refuse_holder("", dev, NULL))
		return 0;
	return plan_params(dev, plan, err);
}

static int profile_expand(struct model *m, const struct request *request, struct plan *plan,
			  struct err *err)
{
	struct vgpu_type type = { .name = "" };
	const struct device *dev;
	int rc = find(m, request, &dev, err);

	rc = rc ? rc : plan_touch(plan, &request->dev, err);
	if (!rc && request->value[0] && !(dev->intent.claim[0] && holds(dev, request->value)))
		rc = mdevctl_refuse(dev, err);
	if (!rc && holds(dev, request->value) && !dev->stuck[0])
		return plan_rest(dev, plan, err);
	rc = rc ? rc : vgpu_refuse_change(dev, request, err);
	if (!rc && request->value[0])
		rc = vgpu_find_type(m, dev, request->value,
				    !dev->facts.profile_id[0] && is_alone(plan), &type, err);
	if (!rc && dev->facts.profile_id[0])
		rc = plan_step(plan, &vgpu_profile, &dev->key, "", err);
	if (rc || !type.name[0])
		return rc;
	rc = plan_step(plan, &vgpu_profile, &dev->key, type.name, err);
	return rc ? rc : plan_params(dev, plan, err);
}

static int profile_predict(struct model *m, const struct request *request, struct plan *plan,
			   struct err *err)
{
	(void)m;
	return request->value[0] ? plan_step(plan, &vgpu_profile, &request->dev, request->value, err)
				 : 0;
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
static int profile_prepare(struct model *m, const struct request *request, struct err *err)
{
	struct device *dev = model_edit(m, &request->dev, false);

	if (!dev)
		return fail(err, ENODEV, "%s is gone", request->dev.name);
	if (dev->facts.mdev[0])
		STR_COPY(dev->intent.mdev, dev->facts.mdev);
	else if (request->value[0] &&
		 (!dev->intent.mdev[0] || others_have(m, dev, dev->intent.mdev)))
		key_random_uuid(dev->intent.mdev);
	return 0;
}

void vgpu_note(struct model *m, struct device *dev, const struct request *request)
{
	_free_ struct vgpu_types *types = types_new();
	const struct vgpu_type *t = NULL;
	struct intent *w = &dev->intent;

	if (types) {
		types_of(m, dev, types);
		t = types_find(types, dev->facts.profile_id, NULL);
	}
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

static int profile_settle(struct model *m, const struct request *request, struct err *err)
{
	struct device *dev = model_edit(m, &request->dev, false);

	if (!dev)
		return fail(err, ENODEV, "%s is gone", request->dev.name);
	if (!holds(dev, request->value))
		return fail(err, EIO,
			    "%s is %s and not %s although the kernel reported success; dmesg may "
			    "say why",
			    dev->key.name, dev->facts.profile[0] ? dev->facts.profile : "no vGPU",
			    request->value[0] ? request->value : "none");
	if (!request->value[0]) {
		end_intents(dev);
		return 0;
	}
	vgpu_note(m, dev, request);
	return 0;
}

static bool profile_can(const struct device *dev)
{
	return dev->caps & CAP_VGPU;
}

/* Behind the VFs, before the claims. */
static const struct method profile_method = {
	.file = "profile",
	.bus = BUS_PCI,
	.rank = 60,
	.guarded = true,
	.can = profile_can,
	.down = request_is_none,
	.expand = profile_expand,
	.predict = profile_predict,
	.prepare = profile_prepare,
	.settle = profile_settle,
};

/* ---- its parameters */

/* The driver takes them only while no VM runs. */
static int params_expand(struct model *m, const struct request *request, struct plan *plan,
			 struct err *err)
{
	const struct device *dev;
	int rc = find(m, request, &dev, err);
	const struct request *profile = rc ? NULL : plan_requested(plan, &dev->key, "profile");

	rc = rc ? rc : plan_touch(plan, &request->dev, err);
	if (rc || (!profile && !strcmp(dev->facts.vgpu_params, request->value)))
		return rc;
	if (profile ? !profile->value[0] : !dev->facts.profile_id[0])
		return fail(err, EOPNOTSUPP,
			    "%s is no vGPU, and has no parameters; write its profile first",
			    dev->key.name);
	rc = vgpu_refuse_change(dev, request, err);
	return rc ? rc : plan_step(plan, &vgpu_params, &dev->key, request->value, err);
}

static int params_settle(struct model *m, const struct request *request, struct err *err)
{
	struct device *dev = model_edit(m, &request->dev, false);

	if (!dev)
		return fail(err, ENODEV, "%s is gone", request->dev.name);
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
	.can = profile_can,
	.expand = params_expand,
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

/* Only what the transaction itself does with the profile, and nobody else's claim, is in the way.
 * The first claim of a vGPU has no name yet. */
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
			    "%s is no vGPU yet; write one of its profiles to its profile, which "
			    "claims it as well",
			    dev->key.name);
	if (!restores && strcmp(dev->intended, who)) {
		rc = refuse_coming("", dev, err);
		if (rc)
			return rc;
	}
	if (!claim[0] || !strcmp(claim, who) || !strcmp(claim, NOBODY_NAMED))
		return 0;
	return fail(err, EBUSY, "%s is claimed by %s; write none to its profile first",
		    dev->key.name, claim);
}

static int claim_expand(struct model *m, const struct request *request, struct plan *plan,
			struct err *err)
{
	const struct device *dev;
	int rc = find(m, request, &dev, err);

	if (rc)
		return rc;
	if (!request->value[0] && !dev->intent.claim[0])
		return 0;
	/* It goes on as mdevctl's. */
	if (!request->value[0] && dev->facts.mdevctl[0]) {
		rc = plan_touch(plan, &request->dev, err);
		return rc ? rc : vgpu_refuse_change(dev, request, err);
	}
	if (!request->value[0])
		return fail(err, EINVAL,
			    "%s is a vGPU, which is claimed as long as it is one; write none to "
			    "its profile",
			    dev->key.name);
	rc = refuse_claim(dev, request->value, request->restores, plan, err);
	rc = rc ? rc : plan_touch(plan, &request->dev, err);
	if (rc || !dev->intent.owned)
		return rc;
	return plan_step(plan, &vfio_own, &dev->key, "", err);
}

static int claim_settle(struct model *m, const struct request *request, struct err *err)
{
	struct device *dev = model_edit(m, &request->dev, false);

	if (!dev)
		return fail(err, ENODEV, "%s is gone", request->dev.name);
	if (!request->value[0]) {
		end_intents(dev);
		return 0;
	}
	if (!dev->facts.profile_id[0])
		return fail(err, EIO, "%s is no vGPU any more; write its profile again",
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
	int rc = refuse_claim(dev, "?", false, &alone, err);

	return rc ? rc : plan_refuse_busy_device(m, &dev->key, NULL, NULL, err);
}

const struct claim_ops vgpu_claim = {
	.name = "vgpu",
	.bus = BUS_PCI,
	.fits = claim_fits,
	.fits_child = claim_fits_child,
	.expand = claim_expand,
	.settle = claim_settle,
	.give_nodes = vfio_give_nodes,
	.refuse = claim_refuse,
};

/* Of a mediated device, which is one as long as it exists. */
const struct claim_ops mdev_claim = {
	.name = "mdev",
	.bus = BUS_MDEV,
	.fits = claim_fits,
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
};
