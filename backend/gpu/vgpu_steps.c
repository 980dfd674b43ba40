// SPDX-License-Identifier: GPL-2.0-or-later
/* The writes that make a vGPU of a VF, and end it. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/internal.h"
#include "backend/steps.h"
#include "backend/mdev/mdev.h"
#include "backend/mdev/mdevctl.h"
#include "backend/use.h"
#include "budget.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/util.h"
#include "vgpu.h"
#include "world.h"

#define PROFILE_MS 30000
#define MAKE_TRIES 3

/* ---- why a driver has refused to make one */

/* Of the card of this device, and the devices that may be its vGPUs. NULL: no memory. */
static struct budget *budget_of(struct model *m, const struct key *key, struct key **ret_vfs,
				size_t *ret_n)
{
	const struct device *dev, *card, *vfs[INTENT_VFS];
	struct budget *b = NULL;

	*ret_n = 0;
	model_lock(m);
	dev = model_find(m, key);
	card = dev && device_is_vf(dev) ? model_parent(m, dev) : dev;
	if (card)
		*ret_n = model_children(m, &card->key, BUS_PCI, vfs, INTENT_VFS);
	*ret_n = *ret_n < INTENT_VFS ? *ret_n : INTENT_VFS;
	*ret_vfs = calloc(*ret_n + 1, sizeof(**ret_vfs));
	for (size_t i = 0; i < *ret_n && *ret_vfs; i++)
		(*ret_vfs)[i] = vfs[i]->key;
	if (card && *ret_vfs)
		b = budget_new(m, card, NULL);
	model_unlock(m);
	return b;
}

/* Those that the card makes of itself. */
static void set_own(const struct backend *b, const struct key *card, struct budget *budget)
{
	_closedir_ DIR *dir = sysfs_dir(&b->sys, ROOT_SYS, PCI_DEVICES "/%s", card->name);
	const struct dirent *e;
	struct key mdev;
	char type[64];

	for (size_t i = budget->n; i-- > 0;)
		budget_set(budget, budget->v[i].name, "");
	while (dir && (e = readdir(dir)))
		if (key_make(BUS_MDEV, e->d_name, &mdev) &&
		    !sysfs_link(&b->sys, ROOT_SYS, type, sizeof(type), MDEV_DEVICES "/%s/mdev_type",
				mdev.name))
			budget_set(budget, mdev.name, type);
}

static struct budget *budget_now(const struct backend *b, const struct key *dev)
{
	_free_ struct key *vfs = NULL;
	size_t n;
	struct budget *budget = budget_of(b->model, dev, &vfs, &n);
	char id[TYPE_ID];

	if (budget && !n)
		set_own(b, dev, budget);
	for (size_t i = 0; i < n && budget; i++) {
		vgpu_id(&b->sys, &vfs[i], id);
		budget_set(budget, vfs[i].name, id);
	}
	return budget;
}

/* Its driver lists what can be made of a device that is no vGPU, and that it is by now. */
int vgpu_refuse_now(const struct backend *b, const struct key *dev, const char *type,
		    struct err *err)
{
	_free_ struct vgpu_types *now = vgpu_list(b, dev, false);
	_free_ struct budget *budget = budget_now(b, dev);
	const struct vgpu_type *t = budget ? types_find(&budget->types, type, NULL) : NULL;
	char why[TYPE_WHY] = "";

	if (!budget || !now)
		return fail_nomem(err);
	if (t)
		budget_why(budget, t, why);
	return vgpu_refuse_full(dev->name, !budget->own, t ? t->name : type, why, now, err);
}

/* ---- the steps */

struct vgpu_job {
	struct backend *b;
	struct step *step;
	unsigned int ms;
	const struct vgpu_world *world;
	struct vgpu now;
	struct device dev;	 /* as it is known, or 0 */
	struct vgpu_types types; /* likewise; mostly untouched memory */
};

static void read_device(struct vgpu_job *j)
{
	struct model *m = j->b->model;
	const struct device *dev;

	model_lock(m);
	dev = model_find(m, &j->step->dev);
	if (dev) {
		types_of(m, dev, &j->types);
		j->dev = *dev;
	}
	model_unlock(m);
}

/* What went wrong whatever was to be done; 0: something else. */
static int explain(struct vgpu_job *j, const char *what, int rc, struct err *err)
{
	const char *name = j->step->dev.name;
	int r = step_trouble(j->b, "profile", &j->step->dev, rc, j->ms,
			     "the driver is still at work", err);

	if (r)
		return r;
	if (rc == -EPERM || rc == -EBUSY)
		return fail(err, EBUSY,
			    "%s of %s was refused, since a VM has it open; stop that VM and write "
			    "again",
			    what, name);
	if (rc == -ENXIO || rc == -ENOENT)
		return fail(err, EOPNOTSUPP,
			    "%s of %s is not possible now: the driver is not ready for vGPUs; "
			    "check that nvidia-vgpud and nvidia-vgpu-mgr are running",
			    what, name);
	return 0;
}

/* A mediated device keeps its UUID; meanwhile somebody may have given it to another one. */
static int explain_taken(struct vgpu_job *j, struct err *err)
{
	struct facts other = facts_none;
	bool found = mdev_parent(&j->b->sys, j->dev.intent.mdev, &other);

	return fail(err, EBUSY,
		    "%s of %s was refused: %s already has a mediated device with its UUID, %s; remove "
		    "that one",
		    j->step->value, j->step->dev.name, found ? other.parent.name : "another device",
		    j->dev.intent.mdev);
}

/* By the driver's list of now: a sibling may have been faster, or have left. */
static bool has_room(struct vgpu_job *j)
{
	const struct vgpu_type *t;

	j->world->look(j->b, j->step, j->ms, &j->types);
	t = types_find(&j->types, j->step->value, NULL);
	return t && t->available > 0;
}

static int explain_make(struct vgpu_job *j, int rc, struct err *err)
{
	int r = explain(j, "profile", rc, err);

	if (r)
		return r;
	if (rc == -EEXIST)
		return explain_taken(j, err);
	if (rc == -ENOSPC || !has_room(j))
		return vgpu_refuse_now(j->b, &j->step->dev, j->step->value, err);
	return fail(err, EIO,
		    "%s of %s was refused by its driver: %s; it is not a vGPU now; dmesg may say why",
		    j->step->value, j->step->dev.name, strerror(-rc));
}

/*
 * Without mediated devices a full card and all else is EIO. If there is room afterwards, a sibling
 * may have been faster and have left again, so the driver is asked once more.
 */
static int make(struct vgpu_job *j, struct err *err)
{
	int tries = MAKE_TRIES;
	struct vgpu as = { 0 };
	const struct vgpu_type *t = types_find(&j->types, j->step->value, NULL);
	/* An earlier step may have made room. If there is none any more the driver refuses. */
	bool unsure = !t || t->available <= 0;
	int rc = j->world->mediated ? mdevctl_refuse_make(&j->b->sys, j->step->dev.name,
							  j->dev.intent.mdev, err)
				    : 0;

	if (rc)
		return rc;
	rc = unsure ? j->world->look(j->b, j->step, j->ms, &j->types) : 0;
	if (rc)
		return explain(j, "reading the vGPU types", rc, err)
			       ?: fail(err, EIO, "the vGPU types of %s cannot be read: %s",
				       j->step->dev.name, strerror(-rc));
	t = types_find(&j->types, j->step->value, NULL);
	if (!t || t->available <= 0)
		return vgpu_refuse_now(j->b, &j->step->dev, j->step->value, err);
	STR_COPY(as.id, t->id);
	STR_COPY(as.uuid, j->dev.intent.mdev);
	do
		rc = j->world->become(j->b, j->step, j->ms, &j->now, &as);
	while (rc == -EIO && !j->world->mediated && --tries && has_room(j));
	return rc ? explain_make(j, rc, err) : 0;
}

static int end(struct vgpu_job *j, struct err *err)
{
	int rc;

	if (!j->now.id[0])
		return 0;
	rc = j->world->become(j->b, j->step, j->ms, &j->now, NULL);
	if (!rc)
		return 0;
	return explain(j, "profile none", rc, err)
		       ?: fail(err, EIO, "the vGPU %s cannot be ended: %s; dmesg may say why",
			       j->step->dev.name, strerror(-rc));
}

/* *ret must be freed in any case. */
static int begin(struct backend *b, struct step *step, unsigned int ms, struct vgpu_job **ret,
		 struct err *err)
{
	struct vgpu_job *j = *ret = malloc(sizeof(*j));
	int rc;

	if (!j)
		return fail_nomem(err);
	memset(j, 0, offsetof(struct vgpu_job, types.v));
	j->b = b;
	j->step = step;
	j->ms = ms;
	read_device(j);
	j->world = vgpu_world_of(&b->sys, &step->dev);
	if (!j->world)
		return fail(err, EOPNOTSUPP,
			    "%s offers no vGPUs now: its driver is %s; load NVIDIA's vGPU driver",
			    step->dev.name, j->dev.facts.driver[0] ? j->dev.facts.driver : "none");
	rc = j->world->now(b, step, ms, &j->now);
	if (!rc)
		return 0;
	return explain(j, "reading the vGPU", rc, err)
		       ?: fail(err, EIO, "what vGPU %s is cannot be read: %s", step->dev.name,
			       strerror(-rc));
}

static int profile_run(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	_free_ struct vgpu_job *j = NULL;
	int rc = begin(b, step, ms, &j, err);

	if (rc)
		return rc;
	snprintf(step->former, sizeof(step->former), "%s %s", j->now.id, j->now.uuid);
	step->recorded = true;
	return step->value[0] ? make(j, err) : end(j, err);
}

static int write_params(struct vgpu_job *j, const char *text, struct err *err)
{
	int rc = j->world->params(j->b, j->step, j->ms, text[0] ? text : "\n");

	if (!rc)
		return 0;
	if (rc == -ENOENT && j->now.id[0])
		return fail(err, EOPNOTSUPP, "the driver of %s takes no parameters for vGPUs",
			    j->step->dev.name);
	return explain(j, "vgpu_params", rc, err)
		       ?: fail(err, rc == -EINVAL ? EINVAL : EIO,
			       "vgpu_params \"%s\" of %s was refused by its driver: %s", text,
			       j->step->dev.name, strerror(-rc));
}

/* The driver has forgotten the parameters with the type. */
static int make_again(struct vgpu_job *j, const struct vgpu *former, struct err *err)
{
	int rc = j->world->become(j->b, j->step, j->ms, &j->now, former);

	if (rc)
		return fail(err, EIO, "%s cannot be made vGPU type %s again: %s",
			    j->step->dev.name, former->id, strerror(-rc));
	j->now = *former;
	return j->dev.intent.vgpu_params[0] ? write_params(j, j->dev.intent.vgpu_params, err) : 0;
}

static int profile_undo(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	_free_ struct vgpu_job *j = NULL;
	int rc = begin(b, step, ms, &j, err);
	struct vgpu former;

	if (rc || !step->former[0])
		return rc;
	STR_COPY(former.uuid, mdev_split(step->former, former.id));
	if (!strcmp(former.id, j->now.id))
		return 0;
	rc = end(j, err);
	return rc || !former.id[0] ? rc : make_again(j, &former, err);
}

/* What is no vGPU nobody has open, whatever was known of the one before it. */
static int refuse_step_vgpu(struct model *m, const struct step *step, struct err *err)
{
	const struct device *dev = model_find(m, &step->dev);

	return dev && (dev->facts.profile_id[0] || device_is_allocated(dev))
		       ? refuse_holder("", dev, err)
		       : 0;
}

const struct verb vgpu_profile = { .of = "vgpu",
				   .name = "profile",
				   .deadline_ms = PROFILE_MS,
				   .records = true,
				   .lanes = true,
				   .refuse = refuse_step_vgpu,
				   .run = profile_run,
				   .undo = profile_undo };

static int params_run(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	_free_ struct vgpu_job *j = NULL;
	int rc = begin(b, step, ms, &j, err);

	if (rc)
		return rc;
	STR_COPY(step->former, j->dev.facts.vgpu_params);
	step->recorded = true;
	return write_params(j, step->value, err);
}

static int params_undo(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	_free_ struct vgpu_job *j = NULL;
	int rc = begin(b, step, ms, &j, err);

	return rc || !j->now.id[0] ? rc : write_params(j, step->former, err);
}

const struct verb vgpu_params = { .of = "vgpu",
				  .name = "vgpu_params",
				  .deadline_ms = PROFILE_MS,
				  .records = true,
				  .lanes = true,
				  .refuse = refuse_step_held,
				  .run = params_run,
				  .undo = params_undo };
