// SPDX-License-Identifier: GPL-2.0-or-later
/* How a function is offered to pods. The kernel takes no part in this, so there are no steps. */
#include "claim.h"
#include "ops.h"

#include <errno.h>
#include <string.h>

#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/resource.h"
#include "pcidevfs/util.h"

/* An operation on the device may read its name, so it must end first. */
static int offer_expand(struct model *m, const struct device *dev, const struct request *request,
			struct plan *plan, struct err *err)
{
	return plan_touch(plan, &dev->key, err);
}

/* A pod that asks for the other device's own name must not get this one. */
static int name_expand(struct model *m, const struct device *dev, const struct request *request,
		       struct plan *plan, struct err *err)
{
	const char *owner = request->value[0] ? resource_owner(m, dev, request->value) : NULL;

	if (owner)
		return fail(
			err, EBUSY,
			"%s is the own name of %s, whose pooled is 0; choose another name for %s, or "
			"write 1 to pooled there",
			request->value, owner, request->dev.name);
	return offer_expand(m, dev, request, plan, err);
}

static int name_settle(struct model *m, struct device *dev, const struct request *request,
		       struct err *err)
{
	STR_COPY(dev->intent.resource, request->value);
	return 0;
}

/* What has a claim has its name by that, and keeps it. */
static int pin_expand(struct model *m, const struct device *dev, const struct request *request,
		      struct plan *plan, struct err *err)
{
	if (!strcmp(request->value, dev->intent.pinned))
		return offer_expand(m, dev, request, plan, err);
	if (dev->intent.claim[0])
		return fail(err, EBUSY, "%s is claimed by %.100s, as %s; release it first",
			    dev->key.name, dev->intent.claim, dev->intent.pinned);
	if (dev->facts.caps & CAP_VGPU)
		return fail(err, EOPNOTSUPP, "%s is offered by the name of its vGPU type",
			    dev->key.name);
	if (!claim_requested(m, plan, dev))
		return fail(
			err, EINVAL,
			"the name of %s can only be kept together with a claim of it, by lines of "
			"one transaction of ctl; write resource_name for any other",
			dev->key.name);
	return name_expand(m, dev, request, plan, err);
}

static int pin_predict(struct model *m, const struct device *parent, const struct request *request,
		       struct plan *plan, struct err *err)
{
	return fail(err, EINVAL,
		    "%s is not there yet, so it was never offered; write resource_name instead of "
		    "offered_as",
		    request->dev.name);
}

static int pin_settle(struct model *m, struct device *dev, const struct request *request,
		      struct err *err)
{
	STR_COPY(dev->intent.pinned, request->value);
	return 0;
}

static int pooled_settle(struct model *m, struct device *dev, const struct request *request,
			 struct err *err)
{
	if (strcmp(request->value, "0")) {
		dev->intent.single = false;
		dev->intent.own[0] = '\0';
	} else if (!dev->intent.single) {
		dev->intent.single = true;
		resource_give_own(m, dev);
	}
	return 0;
}

static bool pooled_down(struct model *m, const struct request *request)
{
	return strcmp(request->value, "0") != 0;
}

/* Before the claim, because a claim starts the offer. */
static const struct method name_method = {
	.file = "resource_name",
	.rank = 90,
	.noted = true,
	.caps = CAP_CLAIM,
	.down = request_is_none, /* also of a VF that goes */
	.expand = name_expand,
	.settle = name_settle,
};

static const struct method pooled_method = {
	.file = "pooled",
	.rank = 90,
	.noted = true,
	.caps = CAP_CLAIM,
	.down = pooled_down,
	.expand = offer_expand,
	.settle = pooled_settle,
};

static const struct method pin_method = {
	.file = "offered_as",
	.rank = 90,
	.noted = true,
	.caps = CAP_CLAIM,
	.expand = pin_expand,
	.predict = pin_predict,
	.settle = pin_settle,
};

static const struct method *const methods[] = { &name_method, &pin_method, &pooled_method, NULL };

const struct backend_ops offer_ops = {
	.name = "offer",
	.help = "the name under which a function is offered to pods",
	.methods = methods,
};
