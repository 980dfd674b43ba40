// SPDX-License-Identifier: GPL-2.0-or-later
/* Ways of claiming, and what they all share. */
#include "claim.h"

#include <errno.h>
#include <string.h>

#include "backend/vfio/vfio.h"
#include "internal.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/plan.h"

/* Special ways come before those that take all other devices of a bus. */
const struct claim_ops *const claim_ways[] = { &vgpu_claim, &mdev_claim, &usb_claim, &vfio_claim, NULL };

const struct claim_ops *claim_way(const struct claim_ops *const *ways, const struct device *dev)
{
	while (*ways && ((*ways)->bus != dev->key.bus || !(*ways)->fits(dev)))
		ways++;
	return *ways;
}

static int way_of(struct model *m, const struct key *key, const struct claim_ops *const *ways,
		  const struct claim_ops **ret, struct err *err)
{
	const struct device *dev = model_find(m, key);

	*ret = dev ? claim_way(ways, dev) : NULL;
	if (!dev)
		return fail(err, ENODEV, "%s is gone", key->name);
	return *ret ? 0
		    : fail(err, EOPNOTSUPP, "%s is a %s, and pcidevfs cannot claim that",
			   key->name, kind_name(dev->kind));
}

static int claim_expand(struct model *m, const struct request *request, struct plan *plan,
			struct err *err)
{
	const struct claim_ops *way;
	int rc = way_of(m, &request->dev, claim_ways, &way, err);

	return rc ? rc : way->expand(m, request, plan, err);
}

static int claim_predict(struct model *m, const struct request *request, struct plan *plan,
			 struct err *err)
{
	const struct claim_ops *const *way = claim_ways;
	struct key parent = request->dev; /* "<PF>/virtfn<N>" */
	const struct device *pf;

	parent.name[strcspn(parent.name, "/")] = '\0';
	pf = model_find(m, &parent);
	while (*way && ((*way)->bus != request->dev.bus ||
			((*way)->fits_child && !(pf && (*way)->fits_child(pf)))))
		way++;
	return *way && (*way)->predict ? (*way)->predict(m, request, plan, err) : 0;
}

static int claim_prepare(struct model *m, const struct request *request, struct err *err)
{
	const struct claim_ops *way;
	int rc = way_of(m, &request->dev, claim_ways, &way, err);

	return rc || !way->prepare ? rc : way->prepare(m, request, err);
}

static int claim_settle(struct model *m, const struct request *request, struct err *err)
{
	const struct claim_ops *way;
	int rc = way_of(m, &request->dev, claim_ways, &way, err);

	return rc ? rc : way->settle(m, request, err);
}

static bool claim_can(const struct device *dev)
{
	return dev->caps & CAP_CLAIM;
}

/* After everything that decides what the device is. */
const struct method claim_method = {
	.file = "claim",
	.rank = 100,
	.guarded = true,
	.can = claim_can,
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

	return way && way->refuse ? way->refuse(m, dev, err)
				  : vfio_claim_rules.say(m, dev, o, err);
}

const struct claim_rules claim_rules = { find_obstacle, say_obstacle };

static int way_now(struct backend *b, const struct key *dev, const struct claim_ops **ret,
		   struct err *err)
{
	int rc;

	model_lock(b->model);
	rc = way_of(b->model, dev, b->ways, ret, err);
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
