// SPDX-License-Identifier: GPL-2.0-or-later
/* A function makes mediated devices by its file `create`, and one ends by none in its profile. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backend/gpu/types.h"
#include "backend/gpu/vgpu.h"
#include "backend/internal.h"
#include "backend/steps.h"
#include "backend/ops.h"
#include "backend/use.h"
#include "mdev.h"
#include "mdevctl.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/plan.h"

#define MDEV_MS 30000

/* ---- steps */

static int create(struct backend *b, struct step *step, const char *value, unsigned int ms)
{
	char type[TYPE_ID];
	const char *uuid = mdev_split(value, type);

	return mdev_make(b, step, step->dev.name, type, uuid, ms);
}

static int create_run(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	char type[TYPE_ID];
	const char *uuid = mdev_split(step->value, type);
	int rc = mdevctl_refuse_make(&b->sys, step->dev.name, uuid, err);

	if (rc)
		return rc;
	step->recorded = true;
	rc = create(b, step, step->value, ms);
	if (!rc)
		return 0;
	if (rc == -EEXIST) { /* an undo must not take it away */
		step->recorded = false;
		return fail(err, EBUSY, "the UUID %s is in use; write another one, or none", uuid);
	}
	if (rc == -ENOSPC)
		return vgpu_refuse_now(b, &step->dev, type, err);
	return step_trouble(b, "create", &step->dev, rc, ms, "the driver is still at work", err)
		       ?: fail(err, EIO,
			       "create %s of %s was refused: %s; its profiles tell what is "
			       "possible",
			       step->value, step->dev.name, strerror(-rc));
}

static int create_undo(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	char type[TYPE_ID];
	const char *uuid = mdev_split(step->value, type);
	int rc = mdev_remove(b, step, uuid, ms);

	return rc ? fail(err, rc == -ETIMEDOUT ? ETIMEDOUT : EIO,
			 "the mediated device %s cannot be removed again: %s", uuid, strerror(-rc))
		  : 0;
}

/* The step's value is the device's UUID: when the step is undone it is gone, and its parent is
 * not. */
static int refuse_remove(struct model *m, const struct step *step, struct err *err)
{
	struct key key;
	const struct device *dev =
		key_make(BUS_MDEV, step->value, &key) ? model_find(m, &key) : NULL;

	return dev ? refuse_holder("", dev, err) : 0;
}

/* former: "<type> <uuid>", as create takes it */
static int remove_run(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	struct device dev;
	struct key key;
	int rc;

	if (!key_make(BUS_MDEV, step->value, &key) || !model_copy(b->model, &key, &dev))
		return fail(err, ENODEV, "%s is gone", step->value);
	snprintf(step->former, sizeof(step->former), "%.32s %.37s", dev.facts.profile_id, key.name);
	step->recorded = true;
	rc = mdev_remove(b, step, step->value, ms);
	if (!rc)
		return 0;
	return step_trouble(b, "remove", &step->dev, rc, ms, "a VM seems to have it open", err)
		       ?: fail(err, rc == -EBUSY ? EBUSY : EIO, "%s of %s cannot be removed: %s",
			       step->value, step->dev.name, strerror(-rc));
}

static int remove_undo(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	int rc = create(b, step, step->former, ms);

	return !rc || rc == -EEXIST
		       ? 0
		       : fail(err, rc == -ETIMEDOUT ? ETIMEDOUT : EIO,
			      "the mediated device %s cannot be made again: %s", step->value,
			      strerror(-rc));
}

const struct verb mdev_create = { .of = "mdev",
					 .name = "create",
					 .deadline_ms = MDEV_MS,
					 .records = true,
					 .lanes = true,
					 .run = create_run,
					 .undo = create_undo };
const struct verb mdev_finish = { .of = "mdev",
					 .name = "remove",
					 .deadline_ms = MDEV_MS,
					 .records = true,
					 .lanes = true,
					 .refuse = refuse_remove,
					 .run = remove_run,
					 .undo = remove_undo };

/* ---- the method */

static bool can(const struct device *dev)
{
	return dev->key.bus == BUS_MDEV || dev->caps & CAP_CREATE;
}

static int plan_create(struct model *m, const struct request *request, struct plan *plan,
		       struct err *err)
{
	const struct key *key = request_parent(request);
	const struct device *parent = key ? model_find(m, key) : NULL;
	struct vgpu_type type;
	char value[STEP_VALUE];
	bool sure = true;
	int rc;

	if (!parent)
		return fail(err, ENODEV, "%s is not there", request->dev.name);
	rc = refuse_doubt("", parent, err);
	rc = rc ? rc : vgpu_find_type(m, parent, request->value, &type, err);
	rc = rc ? rc : vgpu_find_room(m, parent, &type, plan, &sure, err);
	if (rc)
		return rc;
	snprintf(value, sizeof(value), "%s %s", type.id, request->dev.name);
	rc = plan_step(plan, &mdev_create, key, value, err);
	if (!rc)
		plan->steps[plan->n_steps - 1].expected = !sure;
	return rc;
}

static int expand(struct model *m, const struct device *dev, const struct request *request,
		  struct plan *plan, struct err *err)
{
	const struct key *parent = dev ? &dev->facts.parent : request_parent(request);
	int rc = parent ? plan_touch(plan, parent, err) : 0;

	rc = rc ? rc : plan_touch(plan, &request->dev, err);
	if (rc)
		return rc;
	if (!dev)
		return request->value[0] ? plan_create(m, request, plan, err) : 0;
	if (types_reads(dev->facts.profile, request->value) ||
	    !strcmp(dev->facts.profile_id, request->value))
		return dev->intent.claim[0] ? 0 : mdevctl_refuse(dev, err);
	if (request->value[0])
		return fail(err, EBUSY,
			    "%s is %s, and a mediated device keeps its type; write none to its "
			    "profile, then create another of %s",
			    dev->key.name, dev->facts.profile, dev->facts.parent.name);
	rc = vgpu_refuse_change(dev, request, err);
	return rc ? rc : plan_step(plan, &mdev_finish, parent, dev->key.name, err);
}

static int settle(struct model *m, struct device *dev, const struct request *request,
		  struct err *err)
{
	if (!request->value[0])
		return dev ? fail(err, EIO,
				  "%s is still there although the kernel reported success",
				  request->dev.name)
			   : 0;
	if (!dev)
		return fail(err, EIO, "%s did not appear although the kernel reported success",
			    request->dev.name);
	vgpu_note(m, dev, request);
	return 0;
}

static int foresee(const struct device *parent, int32_t index, struct device *ret, struct err *err)
{
	if (!(parent->caps & CAP_CREATE))
		return fail(err, EOPNOTSUPP, "%s makes no mediated devices", parent->key.name);
	ret->caps = CAP_CLAIM | CAP_NAMED | CAP_GROUP | CAP_VGPU;
	ret->kind = KIND_MDEV;
	return 0;
}

static const struct method profile = {
	.file = "profile",
	.bus = BUS_MDEV,
	.rank = 60,
	.guarded = true,
	.can = can,
	.down = request_is_none,
	.expand = expand,
	.foresee = foresee,
	.settle = settle,
};

static const struct method *const methods[] = { &profile, NULL };
static const struct verb *const verbs[] = { &mdev_create, &mdev_finish, NULL };

const struct backend_ops mdev_ops = {
	.name = "mdev",
	.help = "mediated devices of whole functions",
	.methods = methods,
	.verbs = verbs,
};
