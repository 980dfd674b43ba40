// SPDX-License-Identifier: GPL-2.0-or-later
/* The type that was asked for: is there one of that name, and has the card room for it? */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "budget.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/util.h"
#include "types.h"
#include "vgpu.h"

static const struct device *card_of(struct model *m, const struct device *dev)
{
	return device_is_vf(dev) ? model_parent(m, dev) : dev;
}

/* How many of a type the driver lists for the device, which it does while that is no vGPU. */
static int32_t listed(const struct device *dev, const struct vgpu_type *t)
{
	return dev->facts.profile_id[0] ? -1 : t->available;
}

/* What a device can be when the plan is done. Where only the driver can tell, what the card has room
 * for as it is. */
static void list_possible(const struct budget *b, const struct device *dev,
			  const struct vgpu_types *own, struct vgpu_types *ret)
{
	*ret = *own;
	for (size_t i = 0; i < own->n; i++) {
		const struct vgpu_type *t = &own->v[i], *now = types_find_id(&b->types, t->id);
		enum fit fit = budget_fit(b, t, listed(dev, t));

		ret->v[i].available =
			fit == FIT_YES || (fit == FIT_PERHAPS && now && now->available > 0);
	}
}

/* The vGPU itself gives its room away. */
static void list_freed(struct model *m, const struct device *dev, struct vgpu_types *types)
{
	const struct device *card = card_of(m, dev);
	_free_ struct budget *b = card ? budget_new(m, card, NULL) : NULL;
	_free_ struct vgpu_types *own = types_new();

	if (!b || !own)
		return;
	*own = *types;
	budget_set(b, dev->key.name, "");
	b->freed = true;
	list_possible(b, dev, own, types);
}

/* Why the card offers none, without its "no: "; "": that is not known. */
static const char *lack_of(struct model *m, const struct device *dev)
{
	const struct device *card = device_is_vf(dev) ? model_parent(m, dev) : dev;
	const char *lack = !card		      ? ""
			   : card->facts.vgpu_lack[0] ? card->facts.vgpu_lack
						      : card->facts.vgpu_idle;

	return strncmp(lack, "no: ", 4) ? lack : lack + 4;
}

static int refuse_unknown(struct model *m, const struct device *dev, struct vgpu_types *types,
			  const char *name, struct err *err)
{
	bool vgpu = device_is_vf(dev) && dev->facts.profile_id[0];
	const char *lack = lack_of(m, dev);
	char possible[TYPES_TEXT];

	if (vgpu)
		list_freed(m, dev, types);
	types_available(types, possible);
	if (!types->n && *lack)
		return fail(err, EOPNOTSUPP, "%s offers no vGPU types now: %s", dev->key.name,
			    lack);
	if (!types->n)
		return fail(err, EOPNOTSUPP,
			    "%s offers no vGPU types now: its driver is %s; vgpu_support of %s "
			    "says why",
			    dev->key.name, dev->facts.driver[0] ? dev->facts.driver : "none",
			    device_is_vf(dev) ? dev->facts.parent.name : "it");
	return fail(err, EINVAL,
		    "%s has no vGPU type \"%s\"; possible %s: %s; all are in its profiles",
		    dev->key.name, name, vgpu ? "in place of what it is" : "now", possible);
}

int vgpu_find_type(struct model *m, const struct device *dev, const char *value,
		   struct vgpu_type *ret, struct err *err)
{
	_free_ struct vgpu_types *types = types_noted(m, dev);
	const struct vgpu_type *t;
	bool twice;

	if (!types)
		return fail_nomem(err);
	t = types_find(types, value, &twice);
	if (!t)
		return refuse_unknown(m, dev, types, value, err);
	if (twice)
		return fail(err, EINVAL,
			    "%s has two vGPU types called \"%s\"; write the id of one, from its "
			    "profiles",
			    dev->key.name, value);
	*ret = *t;
	STR_COPY(ret->name, types_word(types, t)); /* its id, where another has the name */
	return 0;
}

int vgpu_refuse_full(const char *dev, bool vf, const char *type, const char *why,
		     const struct vgpu_types *now, struct err *err)
{
	char possible[TYPES_TEXT];

	types_available(now, possible);
	return fail(err, ENOSPC, "%s cannot %s %s: %s; possible now: %s", dev,
		    vf ? "become" : "make", type, why[0] ? why : "its card has no room for it",
		    possible);
}

int vgpu_find_room(struct model *m, const struct device *dev, const struct vgpu_type *type,
		   const struct plan *plan, bool *ret_sure, struct err *err)
{
	const struct device *card = card_of(m, dev);
	_free_ struct budget *b = card ? budget_new(m, card, plan) : NULL;
	_free_ struct vgpu_types *own = types_new(), *possible = types_new();
	char why[TYPE_WHY];
	enum fit fit;

	if (!card)
		return fail(err, ENODEV, "%s is gone", dev->facts.parent.name);
	if (!b || !own || !possible)
		return fail_nomem(err);
	fit = budget_fit(b, type, listed(dev, type));
	*ret_sure = fit == FIT_YES;
	if (fit != FIT_NO)
		return 0;
	types_of(m, dev, own);
	list_possible(b, dev, own, possible);
	budget_why(b, type, why);
	if (!why[0])
		STR_COPY(why, type->why);
	return vgpu_refuse_full(dev->key.name, device_is_vf(dev), type->name, why, possible, err);
}

int vgpu_refuse_foreseen(struct model *m, const struct device *card, const struct request *request,
			 const struct plan *plan, struct err *err)
{
	_free_ struct budget *b = budget_new(m, card, plan);
	_free_ struct vgpu_types *possible = types_new();
	const struct vgpu_type *t = b ? types_find(&b->types, request->value, NULL) : NULL;
	char why[TYPE_WHY];

	if (!b || !possible)
		return fail_nomem(err);
	if (!t || budget_fit(b, t, -1) != FIT_NO)
		return 0;
	list_possible(b, card, &b->types, possible);
	budget_why(b, t, why);
	return vgpu_refuse_full(request->dev.name, true, t->name, why, possible, err);
}
