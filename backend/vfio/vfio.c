// SPDX-License-Identifier: GPL-2.0-or-later
/* The claim of PCI functions for passthrough: a pure plan over the members of an IOMMU group. */
#include "vfio.h"

#include <errno.h>
#include <string.h>

#include "backend/claim.h"
#include "backend/ops.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/valid.h"
#include "backend/use.h"

/* The driver that takes this function for passthrough. */
static const char *vfio_driver_for(const struct device *dev)
{
	return dev->facts.vfio_driver[0] ? dev->facts.vfio_driver : "vfio-pci";
}

bool vfio_bound(const struct device *dev)
{
	return driver_is_vfio(dev->facts.driver);
}

static bool has_group_node(const struct device *dev)
{
	char node[32];

	snprintf(node, sizeof(node), "/dev/vfio/%d", dev->facts.iommu_group);
	return device_has_node(dev, node);
}

bool vfio_serves(const struct device *dev)
{
	return dev->intent.claim[0] && (vfio_bound(dev) || dev->intent.allocated[0]);
}

bool vfio_holds(const struct device *dev, const char *who)
{
	return !strcmp(dev->intent.claim, who) && vfio_bound(dev);
}

/* Not the PF, so claims of its VFs can run side by side. A change of the PF touches its VFs. */
static int touch(struct plan *plan, const struct vfio_group *g, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < g->n && !rc; i++)
		rc = plan_touch(plan, &g->members[i]->key, err);
	return rc;
}

static bool is_planned(const struct plan *plan, const struct verb *verb, const char *value)
{
	for (size_t i = 0; i < plan->n_steps; i++)
		if (plan->steps[i].verb == verb && !strcmp(plan->steps[i].value, value))
			return true;
	return false;
}

int vfio_plan_override(const struct device *dev, struct plan *plan, struct err *err)
{
	/* If it is bound already, perhaps to a variant, only the override and the claim are
	 * missing. */
	const char *driver = vfio_bound(dev) ? dev->facts.driver : vfio_driver_for(dev);
	int rc = 0;

	if (!vfio_bound(dev) && !dev->facts.vfio_ready && !is_planned(plan, &vfio_modprobe, driver))
		rc = plan_step(plan, &vfio_modprobe, &dev->key, driver, err);
	return rc ? rc : plan_step(plan, &vfio_override, &dev->key, driver, err);
}

static int claim_member(const struct device *dev, const struct request *request, struct plan *plan,
			struct err *err)
{
	int rc = vfio_plan_override(dev, plan, err);

	if (rc || vfio_bound(dev))
		return rc;
	if (!dev->facts.driver[0])
		return plan_step_forced(plan, &vfio_bind_idle, &dev->key, vfio_driver_for(dev),
					request->force, err);
	for (const struct backend_ops *const *ops = backends; *ops && !rc; ops++)
		rc = (*ops)->let_go ? (*ops)->let_go(dev, plan, err) : 0;
	rc = rc ? rc
		: plan_step_forced(plan, &vfio_unbind, &dev->key, dev->facts.driver, request->force,
				   err);
	return rc ? rc : plan_step(plan, &vfio_bind, &dev->key, vfio_driver_for(dev), err);
}

static int plan_nodes(const struct device *dev, const struct vfio_group *g, struct plan *plan,
		      struct err *err)
{
	struct node_owner own;
	char text[32];
	int rc;

	snprintf(text, sizeof(text), "/dev/vfio/%d", dev->facts.iommu_group);
	rc = plan_step(plan, &vfio_node, &dev->key, text, err);
	if (rc || !vfio_owner(g, &own))
		return rc;
	snprintf(text, sizeof(text), "%u:%u", own.uid, own.gid);
	return plan_step(plan, &vfio_own, &dev->key, text, err);
}

/* Claimed, or left by --early or by an operation that could not be undone. The former driver is
 * unknown of a VF without a driver and of a device that was already on vfio-pci. */
static bool is_ours(const struct device *dev)
{
	bool unknown = vfio_bound(dev) || (device_is_vf(dev) && !dev->facts.driver[0]);

	return dev->intent.claim[0] || device_is_astray(dev) ||
	       (dev->stuck[0] && (dev->intent.former_known || unknown));
}

static bool has_no_part(const struct device *dev)
{
	return !dev->intent.claim[0] && !dev->intended[0] && !dev->unmet[0] && !dev->stuck[0] &&
	       !device_is_astray(dev);
}

/* For a release: an unclaimed member, which joined the group later, has no part in the claim. */
static void part(struct vfio_group *g, const struct device *dev)
{
	struct vfio_group rest = { .n = 0 };
	bool claimed = false;

	for (size_t i = 0; i < g->n; i++) {
		claimed |= g->members[i]->intent.claim[0];
		if (has_no_part(g->members[i]) == has_no_part(dev))
			rest.members[rest.n++] = g->members[i];
	}
	if (claimed)
		*g = rest;
}

/* If a transaction requests the same of several members, the first by address takes the steps. */
static bool planned_by_sibling(const struct device *dev, const struct vfio_group *g,
			       const struct plan *plan)
{
	for (size_t i = 0; i < g->n && g->members[i] != dev; i++)
		if (plan_requested(plan, &g->members[i]->key, "claim"))
			return true;
	return false;
}

/* A transaction must not request different claims in a group: it has one owner. */
static int refuse_discord(const struct device *dev, const struct vfio_group *g,
			  const struct request *request, const struct plan *plan, struct err *err)
{
	for (size_t i = 0; i < g->n; i++) {
		const struct request *other = plan_requested(plan, &g->members[i]->key, "claim");

		if (other && strcmp(other->value, request->value))
			return fail(
				err, EINVAL,
				"%s shares IOMMU group %d with %s: both must go to the same owner, "
				"not to %s and %s",
				dev->key.name, dev->facts.iommu_group, g->members[i]->key.name,
				request->value[0] ? request->value : "none",
				other->value[0] ? other->value : "none");
	}
	return 0;
}

static int plan_claim(struct model *m, const struct device *dev, const struct request *request,
		      const struct vfio_group *g, struct plan *plan, struct err *err)
{
	size_t before = plan->n_steps;
	int rc = vfio_refuse_claim(m, dev, g, request, plan, err);

	rc = rc ? rc : touch(plan, g, err);
	if (rc || planned_by_sibling(dev, g, plan))
		return rc;
	for (size_t i = 0; !rc && i < g->n; i++)
		if (!vfio_holds(g->members[i], request->value))
			rc = claim_member(g->members[i], request, plan, err);
	if (rc || (before == plan->n_steps && has_group_node(dev)))
		return rc;
	return plan_nodes(dev, g, plan, err);
}

/* A member that has got another driver meanwhile keeps it: only our override goes. */
static int release_member(const struct device *dev, bool force, struct plan *plan, struct err *err)
{
	char override[DRIVER_NAME];
	int rc = 0;

	former_get(dev->intent.former, FORMER_OVERRIDE, override, sizeof(override));
	if (vfio_bound(dev))
		rc = plan_step(plan, &vfio_unbind, &dev->key, dev->facts.driver, err);
	for (const struct backend_ops *const *ops = backends; *ops && !rc; ops++)
		rc = (*ops)->give_back ? (*ops)->give_back(dev, force, plan, err) : 0;
	if (!rc)
		rc = plan_step(plan, &vfio_override, &dev->key, override, err);
	if (!rc && (vfio_bound(dev) || !dev->facts.driver[0]))
		rc = vfio_give_back(dev, force, plan, err);
	return rc;
}

/* A card that is in the place of the claimed one, from restore, which has found that out: its driver
 * may have met it before --early. */
static bool gets_back(const struct device *dev, const struct request *request)
{
	return request->restores && dev->intent.former_known && key_eq(&dev->key, &request->dev);
}

static int plan_release(const struct device *dev, const struct request *request,
			const struct vfio_group *g, struct plan *plan, struct err *err)
{
	int rc = touch(plan, g, err);

	if (rc || planned_by_sibling(dev, g, plan))
		return rc;
	for (size_t i = 0; !rc && i < g->n; i++)
		if (!request->restores && (g->members[i] == dev || is_ours(g->members[i])))
			rc = refuse_coming("", g->members[i], err);
	for (size_t i = 0; !rc && i < g->n; i++)
		if (vfio_serves(g->members[i]) || device_is_astray(g->members[i]))
			rc = vfio_refuse_held(dev, g->members[i], err);
	for (size_t i = 0; !rc && i < g->n; i++)
		rc = refuse_given(g->members[i], err);
	for (size_t i = 0; !rc && i < g->n; i++)
		if (is_ours(g->members[i]) || gets_back(g->members[i], request))
			rc = release_member(g->members[i], request->force, plan, err);
	return rc;
}

/* Bridges stay with the host. */
static bool claim_fits(const struct device *dev)
{
	return !device_is_bridge(&dev->facts);
}

static int claim_expand(struct model *m, const struct device *dev, const struct request *request,
			struct plan *plan, struct err *err)
{
	struct vfio_group g;
	int rc = vfio_find_group(m, dev, &g, err);

	if (!rc)
		rc = refuse_discord(dev, &g, request, plan, err);
	if (rc)
		return rc;
	if (request->value[0])
		return plan_claim(m, dev, request, &g, plan, err);
	part(&g, dev);
	return plan_release(dev, request, &g, plan, err);
}

static int claim_prepare(struct model *m, struct device *dev, const struct request *request,
			 struct err *err)
{
	struct vfio_group g;
	int rc = request->value[0] ? vfio_find_group(m, dev, &g, err) : 0;

	if (rc || !request->value[0])
		return rc;
	for (size_t i = 0; i < g.n; i++) {
		struct device *edit = model_edit(m, &g.members[i]->key, false);

		vfio_remember(edit);
		note_forced(m, edit, request);
	}
	return 0;
}

static int verify_claim(const struct device *dev, struct err *err)
{
	if (!vfio_bound(dev))
		return fail(
			err, EIO,
			"%s is on %s and not on %s although the kernel reported success; dmesg may "
			"say why",
			dev->key.name, dev->facts.driver[0] ? dev->facts.driver : "no driver",
			vfio_driver_for(dev));
	if (!has_group_node(dev))
		return fail(err, EIO, "%s is on %s, but /dev/vfio/%d is not there", dev->key.name,
			    dev->facts.driver, dev->facts.iommu_group);
	return 0;
}

/* If nobody has seen the former driver, the kernel may choose vfio-pci again. */
static int verify_release(const struct device *dev, struct err *err)
{
	bool known = dev->intent.former_known && !vfio_was_told(dev);

	if (dev->intent.claim[0] && known && vfio_bound(dev))
		return fail(
			err, EIO,
			"%s is on %s again although it was released; check for a new_id or ids= "
			"that names it",
			dev->key.name, dev->facts.driver);
	return 0;
}

static int claim_settle(struct model *m, struct device *dev, const struct request *request,
			struct err *err)
{
	const char *who = request->value;
	struct vfio_group g;
	int rc = vfio_find_group(m, dev, &g, err);

	if (!rc && !who[0])
		part(&g, model_find(m, &dev->key)); /* as it was before this commit's edits */
	for (size_t i = 0; !rc && i < g.n; i++)
		rc = who[0] ? verify_claim(g.members[i], err) : verify_release(g.members[i], err);
	for (size_t i = 0; !rc && i < g.n; i++)
		claim_note(model_edit(m, &g.members[i]->key, false), who);
	return rc;
}

/* request->dev.name is "<PF>/virtfn<N>": a VF alone in its group, as nearly all are. */
static int claim_predict(struct model *m, const struct request *request, struct plan *plan,
			 struct err *err)
{
	int rc;

	if (!request->value[0])
		return 0;
	rc = vfio_refuse_iommu(m, err);
	rc = rc ? rc : plan_step(plan, &vfio_override, &request->dev, "vfio-pci", err);
	rc = rc ? rc : plan_step(plan, &vfio_bind, &request->dev, "vfio-pci", err);
	return rc ? rc : plan_step(plan, &vfio_node, &request->dev, "/dev/vfio/?", err);
}

const struct claim_ops vfio_claim = {
	.bus = BUS_PCI,
	.fits = claim_fits,
	.expand = claim_expand,
	.predict = claim_predict,
	.prepare = claim_prepare,
	.settle = claim_settle,
	.early = vfio_early,
	.lift = vfio_lift,
	.give_nodes = vfio_give_nodes,
};

static const struct method *const methods[] = { &claim_method, &vfio_former, NULL };
static const struct verb *const verbs[] = {
	&vfio_modprobe,	   &vfio_override, &vfio_unbind, &vfio_bind, &vfio_rebind,
	&vfio_rebind_told, &vfio_probe,	   &vfio_node,	 &vfio_own,  NULL
};

const struct backend_ops vfio_ops = {
	.name = "vfio",
	.help = "claims: passthrough of whole IOMMU groups by vfio-pci or a vendor's variant of it",
	.methods = methods,
	.verbs = verbs,
};
