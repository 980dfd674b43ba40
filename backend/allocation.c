// SPDX-License-Identifier: GPL-2.0-or-later
/* Which pod has the device, as the plugin records it before it answers kubelet. The record blocks
 * operations that would take the device away; most ways of claiming need no step for it. */
#include <errno.h>
#include <string.h>

#include "claim.h"
#include "ops.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/util.h"
#include "backend/vfio/vfio.h"
#include "backend/use.h"

/* none -> pending -> a pod -> none. The former user must be seen to be gone before the next one. */
static int refuse_allocation(const struct device *dev, const char *value, struct err *err)
{
	const char *now = dev->intent.allocated;

	if (device_is_coming(dev))
		return refuse_coming("", dev, err);
	if (!dev->intent.claim[0])
		return fail(
			err, EOPNOTSUPP,
			"%s is not claimed, and pods get only claimed devices; write a name to its "
			"claim first",
			dev->key.name);
	/* After a restart an old "pending" may belong to a pod that is over. */
	if (!strcmp(value, "pending") && (!now[0] || !strcmp(now, value)))
		return refuse_open(dev, err);
	if (!now[0] || !strcmp(now, value) ||
	    (!strcmp(now, "pending") && strncmp(value, "claim:", 6)))
		return 0;
	return fail(err, EBUSY,
		    "%s is allocated to %s; write none to its allocated_to once that has ended",
		    dev->key.name, now);
}

/* No event tells that a process in a container has closed its node. */
static uint64_t allocation_doubts(const struct device *dev, const struct request *request)
{
	if (strcmp(request->value, "pending"))
		return 0;
	return dev->facts.holder[0] ? now_us() : dev->let_go;
}

/* All devices that settle writes to, so that an undo restores them. */
static int touch(struct model *m, const struct device *dev, const struct request *request,
		 struct plan *plan, struct err *err)
{
	struct vfio_group g;
	int rc = plan_touch(plan, &dev->key, err);

	if (rc || strcmp(request->value, "pending"))
		return rc;
	rc = vfio_find_group(m, dev, &g, err);
	for (size_t i = 0; !rc && i < g.n; i++)
		if (g.members[i]->intent.claim[0])
			rc = plan_touch(plan, &g.members[i]->key, err);
	return rc;
}

static int allocation_expand(struct model *m, const struct device *dev,
			     const struct request *request, struct plan *plan, struct err *err)
{
	const struct claim_ops *way = claim_way(claim_ways, dev);
	int rc = request->value[0] ? refuse_allocation(dev, request->value, err) : 0;

	rc = rc ? rc : touch(m, dev, request, plan, err);
	return rc || !way || !way->allocate ? rc : way->allocate(dev, request, plan, err);
}

/* kubelet stores the answer and after a reboot gives the pod the same nodes without asking us; a
 * pod gets the nodes of its whole group. */
static int note_nodes(struct model *m, const struct device *dev, struct err *err)
{
	struct vfio_group g;
	int rc = vfio_find_group(m, dev, &g, err);

	for (size_t i = 0; !rc && i < g.n; i++) {
		struct device *edit = g.members[i]->intent.claim[0]
					      ? model_edit(m, &g.members[i]->key, false)
					      : NULL;

		if (edit)
			STR_COPY(edit->intent.given, edit->facts.nodes);
	}
	return rc;
}

/* Stores the name by which it was given, until the pod is over. Without a preceding "pending" the
 * device was given before the plugin recorded it here. */
static void note_name(struct device *dev, const char *value)
{
	if (!value[0])
		dev->intent.given_as[0] = '\0';
	else if (!strcmp(value, "pending") || !dev->intent.given_as[0])
		device_resource(dev, dev->intent.given_as);
}

static int allocation_settle(struct model *m, struct device *dev, const struct request *request,
			     struct err *err)
{
	note_name(dev, request->value);
	if (dev->intent.allocated[0] && !request->value[0])
		dev->let_go = now_us();
	STR_COPY(dev->intent.allocated, request->value);
	return strcmp(request->value, "pending") ? 0 : note_nodes(m, dev, err);
}

/* Last, so that a claim of the same commit comes first. */
static const struct method allocation = {
	.file = "allocated_to",
	.rank = 110,
	.noted = true,
	.doubts = allocation_doubts,
	.caps = CAP_CLAIM,
	.expand = allocation_expand,
	.settle = allocation_settle,
};

static const struct method *const methods[] = { &allocation, NULL };

const struct backend_ops allocation_ops = {
	.name = "allocation",
	.help = "the pod that has a function, as written by the plugin",
	.methods = methods,
};
