// SPDX-License-Identifier: GPL-2.0-or-later
/* Ways of claiming, and what they all share. */
#include "claim.h"

#include <errno.h>
#include <string.h>

#include "backend/vfio/vfio.h"
#include "internal.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/intent.h"
#include "pcidevfs/model.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/util.h"

/* Special ways come before those that take all other devices of a bus. */
const struct claim_ops *const claim_ways[] = { &vgpu_claim, &usb_claim, &vfio_claim, NULL };

static bool serves(const struct claim_ops *way, enum bus bus)
{
	return !way->bus || way->bus == bus;
}

const struct claim_ops *claim_way(const struct claim_ops *const *ways, const struct device *dev)
{
	while (*ways && !(serves(*ways, dev->key.bus) && (*ways)->fits(dev)))
		ways++;
	return *ways;
}

bool claim_requested(struct model *m, const struct plan *plan, const struct device *dev)
{
	const struct device *members[CLAIM_MEMBERS];
	size_t n = model_claim_members(m, dev, members, NULL);

	for (size_t i = 0; i < n; i++) {
		const struct request *r = plan_requested(plan, &members[i]->key, claim_method.file);

		if (r && r->value[0])
			return true;
	}
	return false;
}

void claim_note(struct device *edit, const char *who)
{
	edit->intended[0] = '\0';
	if (!who[0]) {
		intent_end_claim(&edit->intent);
		return;
	}
	STR_COPY(edit->intent.claim, who);
	edit->intent.vfs_wanted = false; /* they are gone */
	edit->intent.num_vfs = 0;
	if (!edit->intent.pinned[0])
		STR_COPY(edit->intent.pinned, edit->names.resource);
}

static int way_of(const struct device *dev, const struct claim_ops *const *ways,
		  const struct claim_ops **ret, struct err *err)
{
	*ret = claim_way(ways, dev);
	return *ret ? 0
		    : fail(err, EOPNOTSUPP, "%s is a %s, and pcidevfs cannot claim that",
			   dev->key.name, kind_name(dev->kind));
}

static int claim_expand(struct model *m, const struct device *dev, const struct request *request,
			struct plan *plan, struct err *err)
{
	const struct claim_ops *way;
	int rc = way_of(dev, claim_ways, &way, err);

	return rc ? rc : way->expand(m, dev, request, plan, err);
}

static int claim_predict(struct model *m, const struct device *parent,
			 const struct request *request, struct plan *plan, struct err *err)
{
	const struct claim_ops *const *way = claim_ways;

	while (*way && (!serves(*way, request->dev.bus) ||
			((*way)->fits_child && !(parent && (*way)->fits_child(parent)))))
		way++;
	return *way && (*way)->predict ? (*way)->predict(m, request, plan, err) : 0;
}

static int claim_prepare(struct model *m, struct device *dev, const struct request *request,
			 struct err *err)
{
	const struct claim_ops *way;
	int rc = way_of(dev, claim_ways, &way, err);

	return rc || !way->prepare ? rc : way->prepare(m, dev, request, err);
}

static int claim_settle(struct model *m, struct device *dev, const struct request *request,
			struct err *err)
{
	const struct claim_ops *way;
	int rc = way_of(dev, claim_ways, &way, err);

	return rc ? rc : way->settle(m, dev, request, err);
}

/* After everything that decides what the device is. */
const struct method claim_method = {
	.file = "claim",
	.rank = 100,
	.guarded = true,
	.caps = CAP_CLAIM,
	.down = request_is_none,
	.expand = claim_expand,
	.predict = claim_predict,
	.settle = claim_settle,
	.prepare = claim_prepare,
};

/* Groups are vfio's; of other ways each device is asked by itself. */
static void find_obstacle(struct model *m, const struct device *dev, struct obstacle *ret)
{
	vfio_claim_rules.find(m, dev, ret);
}

static int say_obstacle(struct model *m, const struct device *dev, const struct obstacle *o,
			struct err *err)
{
	const struct claim_ops *way = claim_way(claim_ways, dev);
	int rc;

	if (!way || !way->refuse)
		return vfio_claim_rules.say(m, dev, o, err);
	rc = way->refuse(m, dev, err);
	return rc ? rc : plan_refuse_busy_device(m, &dev->key, NULL, NULL, err);
}

const struct claim_rules claim_rules = { find_obstacle, say_obstacle };

static int way_now(struct backend *b, const struct key *dev, const struct claim_ops **ret,
		   struct err *err)
{
	const struct device *d;
	int rc;

	model_lock(b->model);
	d = model_find(b->model, dev);
	rc = d ? way_of(d, b->ways, ret, err) : fail(err, ENODEV, "%s is gone", dev->name);
	model_unlock(b->model);
	return rc;
}

int backend_lift(void *backend, const struct key *dev, const char *former, unsigned int deadline_ms)
{
	const struct claim_ops *way;
	int rc = way_now(backend, dev, &way, NULL);

	return rc || !way->lift ? rc : way->lift(backend, dev, former, deadline_ms);
}

int backend_give_nodes(void *backend, const struct key *dev, struct err *err)
{
	const struct claim_ops *way;
	int rc = way_now(backend, dev, &way, err);

	return rc || !way->give_nodes ? rc : way->give_nodes(backend, dev, err);
}
