// SPDX-License-Identifier: GPL-2.0-or-later
/* The claim of PCI functions for passthrough: a pure plan over the members of an IOMMU group. */
#include "vfio.h"

#include <errno.h>
#include <string.h>

#include "internal.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/util.h"

/* The members that go along: bridges stay where they are. */
struct group {
	const struct device *members[PLAN_DEVICES];
	size_t n;
};

/* The driver that takes this function for passthrough. Variants go here. */
static const char *vfio_driver_for(const struct device *dev)
{
	(void)dev;
	return "vfio-pci";
}

static bool on_vfio(const struct device *dev)
{
	return driver_is_vfio(dev->facts.driver);
}

/* Values are as the row's store let them through: a name, or "" for none. */
static bool is_release(const struct wish *wish)
{
	return !wish->value[0];
}

static bool claimed_by(const struct device *dev, const char *who)
{
	return !strcmp(dev->want.claim, who);
}

/* Bound as it should be, for whom it should be. */
static bool holds(const struct device *dev, const char *who)
{
	return claimed_by(dev, who) && on_vfio(dev);
}

static int find_group(struct model *m, const struct device *dev, struct group *ret, struct err *err)
{
	size_t all;

	ret->members[0] = dev;
	ret->n = 1;
	if (dev->facts.iommu_group < 0)
		return 0;
	all = model_group(m, dev->facts.iommu_group, ret->members, PLAN_DEVICES);
	if (all > PLAN_DEVICES)
		return fail(err, EOPNOTSUPP, "IOMMU group %d of %s has %zu members, more than %d",
			    dev->facts.iommu_group, dev->key.name, all, PLAN_DEVICES);
	ret->n = 0;
	for (size_t i = 0; i < all; i++)
		if (!device_is_bridge(&ret->members[i]->facts))
			ret->members[ret->n++] = ret->members[i];
	return 0;
}

static int refuse_host(struct model *m, const struct device *dev, struct err *err)
{
	if (!model_has_iommu(m))
		return fail(err, EOPNOTSUPP,
			    "this host has no IOMMU; turn on VT-d or AMD-Vi in the firmware "
			    "and boot with intel_iommu=on or amd_iommu=on");
	if (dev->facts.iommu_group < 0)
		return fail(err, EOPNOTSUPP,
			    "%s is in no IOMMU group, so the host cannot be protected from "
			    "it; the firmware may leave it out of the IOMMU's tables",
			    dev->key.name);
	return 0;
}

/* Before the sentence about a member: how it comes that it is asked about. */
static const char *relation(const struct device *asked, const struct device *member,
			    char buf[static 128])
{
	if (asked == member)
		return "";
	snprintf(buf, 128, "%s shares IOMMU group %d with %s: ", asked->key.name,
		 asked->facts.iommu_group, member->key.name);
	return buf;
}

static int refuse_critical(struct model *m, const struct device *asked, const struct device *member,
			   const struct wish *wish, struct err *err)
{
	(void)m;
	if (!member->facts.critical[0] || on_vfio(member) || wish->force)
		return 0;
	if (asked == member)
		return fail(err, EPERM, "the host needs %s: %s; it stays with the host",
			    asked->key.name, member->facts.critical);
	return fail(err, EPERM,
		    "%s shares IOMMU group %d with %s, which the host needs: %s; the group stays "
		    "with the host",
		    asked->key.name, asked->facts.iommu_group, member->key.name,
		    member->facts.critical);
}

static int refuse_claimed(struct model *m, const struct device *asked, const struct device *member,
			  const struct wish *wish, struct err *err)
{
	char buf[128];

	(void)m;
	if (!member->want.claim[0] || claimed_by(member, wish->value))
		return 0;
	return fail(err, EBUSY, "%s%s is claimed by %s; write none to its claim first",
		    relation(asked, member, buf), member->key.name, member->want.claim);
}

/* The first line of holders is pid=N comm=NAME, the name quoted where it must be. */
static int refuse_held(struct model *m, const struct device *asked, const struct device *member,
		       const struct wish *wish, struct err *err)
{
	const char *line = member->facts.holders, *comm = strstr(line, "comm=");
	int len = comm ? (int)strcspn(comm + 5, "\n") : 0;
	char buf[128];
	long pid = 0;

	(void)m;
	(void)wish;
	if (!line[0])
		return 0;
	if (sscanf(line, "pid=%ld", &pid) != 1 || !len)
		return fail(err, EBUSY, "%s%s is held by a process (%.*s); stop it and write again",
			    relation(asked, member, buf), member->key.name,
			    (int)strcspn(line, "\n"), line);
	if (len > 1 && comm[5] == '"') {
		comm++;
		len -= 2;
	}
	return fail(err, EBUSY, "%s%s is held by %.*s (pid %ld); stop it and write again",
		    relation(asked, member, buf), member->key.name, len, comm + 5, pid);
}

/* vfio-pci refuses a PF that has VFs and leaves it driverless; some drivers take the VFs along. */
static int refuse_pf(struct model *m, const struct device *asked, const struct device *member,
		     const struct wish *wish, struct err *err)
{
	char buf[128];

	(void)m;
	(void)wish;
	if (member->facts.num_vfs <= 0)
		return 0;
	return fail(err, EBUSY, "%s%s has %d VFs; write 0 to its sriov_numvfs first",
		    relation(asked, member, buf), member->key.name, member->facts.num_vfs);
}

static int refuse_vf(struct model *m, const struct device *asked, const struct device *member,
		     const struct wish *wish, struct err *err)
{
	const struct device *pf;
	struct key key;
	char buf[128];

	(void)wish;
	if (!key_make(BUS_PCI, member->facts.physfn, &key))
		return 0;
	pf = model_find(m, &key);
	if (!pf || !on_vfio(pf))
		return 0;
	return fail(err, EOPNOTSUPP,
		    "%s%s is a VF of %s, which is on %s itself; release that first",
		    relation(asked, member, buf), member->key.name, pf->key.name, pf->facts.driver);
}

/* In the order in which they are told: what no waiting mends comes first. */
static int (*const refusals[])(struct model *m, const struct device *asked,
			       const struct device *member, const struct wish *wish,
			       struct err *err) = {
	refuse_critical, refuse_vf, refuse_claimed, refuse_pf, refuse_held,
};

static int refuse_members(struct model *m, const struct device *asked, const struct group *g,
			  const struct wish *wish, struct err *err)
{
	for (size_t r = 0; r < ARRAY_SIZE(refusals); r++)
		for (size_t i = 0; i < g->n; i++) {
			int rc = holds(g->members[i], wish->value)
					 ? 0
					 : refusals[r](m, asked, g->members[i], wish, err);

			if (rc)
				return rc;
		}
	return 0;
}

/* Not the PF: claims of its VFs go side by side. What alters the PF touches its VFs. */
static int touch(struct plan *plan, const struct group *g, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < g->n && !rc; i++)
		rc = plan_touch(plan, &g->members[i]->key, err);
	return rc;
}

static int claim_member(const struct device *dev, struct plan *plan, struct err *err)
{
	const char *driver = vfio_driver_for(dev);
	/* Already there, perhaps as a variant: nothing but the override and the claim is
	 * missing. */
	const char *override = on_vfio(dev) ? dev->facts.driver : driver;
	int rc = plan_step(plan, &vfio_override, &dev->key, override, err);

	if (rc || on_vfio(dev))
		return rc;
	if (dev->facts.driver[0])
		rc = plan_step(plan, &vfio_unbind, &dev->key, dev->facts.driver, err);
	return rc ? rc : plan_step(plan, &vfio_bind, &dev->key, driver, err);
}

/* Claimed, or left half way by an act that could not be undone. */
static bool is_ours(const struct device *dev)
{
	return dev->want.claim[0] || (dev->stuck[0] && dev->want.former_known);
}

/* One transaction may wish the same of several members: the first of them, by address, takes the steps. */
static bool planned_by_sibling(const struct device *dev, const struct group *g, const struct plan *plan)
{
	for (size_t i = 0; i < g->n && g->members[i] != dev; i++)
		if (plan_wished(plan, &g->members[i]->key, "claim"))
			return true;
	return false;
}

/* ... and nothing else: a group has one owner. */
static int refuse_discord(const struct device *dev, const struct group *g, const struct wish *wish,
			  const struct plan *plan, struct err *err)
{
	for (size_t i = 0; i < g->n; i++) {
		const struct wish *other = plan_wished(plan, &g->members[i]->key, "claim");

		if (other && strcmp(other->value, wish->value))
			return fail(err, EINVAL,
				    "%s shares IOMMU group %d with %s: both go to the same owner, not to %s and %s",
				    dev->key.name, dev->facts.iommu_group, g->members[i]->key.name,
				    wish->value[0] ? wish->value : "none",
				    other->value[0] ? other->value : "none");
	}
	return 0;
}

static int plan_claim(struct model *m, const struct device *dev, const struct wish *wish,
		      const struct group *g, struct plan *plan, struct err *err)
{
	size_t before = plan->n_steps;
	char node[32];
	int rc = refuse_host(m, dev, err);

	if (!rc)
		rc = refuse_members(m, dev, g, wish, err);
	if (!rc)
		rc = touch(plan, g, err);
	if (rc || planned_by_sibling(dev, g, plan))
		return rc;
	for (size_t i = 0; !rc && i < g->n; i++)
		if (!holds(g->members[i], wish->value))
			rc = claim_member(g->members[i], plan, err);
	if (rc || (before == plan->n_steps && dev->facts.vfio_node))
		return rc;
	snprintf(node, sizeof(node), "/dev/vfio/%d", dev->facts.iommu_group);
	return plan_step(plan, &vfio_node, &dev->key, node, err);
}

static int give_back(const struct device *dev, struct plan *plan, struct err *err)
{
	const struct want *w = &dev->want;
	/* The kernel refuses a VF its driver, with sriov_drivers_autoprobe 0, unless an override
	 * names it. */
	bool by_override = dev->facts.physfn[0] && w->former_driver[0] && !w->former_override[0];

	if (!w->former_known)
		return plan_step(plan, &vfio_probe, &dev->key, "", err);
	if (!w->former_driver[0])
		return 0;
	if (by_override) {
		int rc = plan_step(plan, &vfio_override, &dev->key, w->former_driver, err);

		rc = rc ? rc : plan_step(plan, &vfio_rebind, &dev->key, w->former_driver, err);
		return rc ? rc : plan_step(plan, &vfio_override, &dev->key, "", err);
	}
	return plan_step(plan, &vfio_rebind, &dev->key, w->former_driver, err);
}

/* A member that drifted to a driver of its own keeps it: only our override goes. */
static int release_member(const struct device *dev, struct plan *plan, struct err *err)
{
	int rc = 0;

	if (on_vfio(dev))
		rc = plan_step(plan, &vfio_unbind, &dev->key, dev->facts.driver, err);
	if (!rc)
		rc = plan_step(plan, &vfio_override, &dev->key, dev->want.former_override, err);
	if (!rc && (on_vfio(dev) || !dev->facts.driver[0]))
		rc = give_back(dev, plan, err);
	return rc;
}

static int plan_release(struct model *m, const struct device *dev, const struct group *g,
			const struct wish *wish, struct plan *plan, struct err *err)
{
	int rc = touch(plan, g, err);

	if (rc || planned_by_sibling(dev, g, plan))
		return rc;
	for (size_t i = 0; !rc && i < g->n; i++)
		if (g->members[i]->want.claim[0] && on_vfio(g->members[i]))
			rc = refuse_held(m, dev, g->members[i], wish, err);
	for (size_t i = 0; !rc && i < g->n; i++)
		if (is_ours(g->members[i]))
			rc = release_member(g->members[i], plan, err);
	return rc;
}

static bool claim_can(const struct device *dev)
{
	return dev->caps & CAP_CLAIM;
}

static int claim_expand(struct model *m, const struct wish *wish, struct plan *plan,
			struct err *err)
{
	const struct device *dev = model_find(m, &wish->dev);
	struct group g;
	int rc;

	if (!dev)
		return fail(err, ENODEV, "%s is gone", wish->dev.name);
	rc = find_group(m, dev, &g, err);
	if (!rc)
		rc = refuse_discord(dev, &g, wish, plan, err);
	if (rc)
		return rc;
	if (is_release(wish))
		return plan_release(m, dev, &g, wish, plan, err);
	return plan_claim(m, dev, wish, &g, plan, err);
}

/* An act that a crash cut short left the device driverless or on vfio: what it had before is
 * known. */
static void remember(struct device *dev)
{
	struct want *w = &dev->want;
	bool host_driver = dev->facts.driver[0] && !on_vfio(dev);

	if (w->claim[0] || (w->former_known && !host_driver))
		return;
	STR_COPY(w->former_driver, host_driver ? dev->facts.driver : "");
	STR_COPY(w->former_override, "");
	w->former_known = !on_vfio(dev);
}

static int claim_prepare(struct model *m, const struct wish *wish, struct err *err)
{
	const struct device *dev = model_find(m, &wish->dev);
	struct group g;
	int rc;

	if (!dev)
		return fail(err, ENODEV, "%s is gone", wish->dev.name);
	rc = is_release(wish) ? 0 : find_group(m, dev, &g, err);
	if (rc || is_release(wish))
		return rc;
	for (size_t i = 0; i < g.n; i++) {
		struct device *edit = model_edit(m, &g.members[i]->key, false);

		if (!edit)
			return fail(err, ENODEV, "%s is gone", g.members[i]->key.name);
		remember(edit);
	}
	return 0;
}

static int verify_claim(const struct device *dev, struct err *err)
{
	if (!on_vfio(dev))
		return fail(
			err, EIO,
			"%s is on %s and not on %s although the kernel said so; dmesg may say why",
			dev->key.name, dev->facts.driver[0] ? dev->facts.driver : "no driver",
			vfio_driver_for(dev));
	if (!dev->facts.vfio_node)
		return fail(err, EIO, "%s is on %s, but /dev/vfio/%d is not there", dev->key.name,
			    dev->facts.driver, dev->facts.iommu_group);
	return 0;
}

/* Where nobody knew what it had, the kernel's choice may be vfio-pci again. */
static int verify_release(const struct device *dev, struct err *err)
{
	if (dev->want.claim[0] && dev->want.former_known && on_vfio(dev))
		return fail(
			err, EIO,
			"%s is on %s again although it was released; is there a new_id or ids= for it?",
			dev->key.name, dev->facts.driver);
	return 0;
}

static int note(struct model *m, const struct device *dev, const char *who, struct err *err)
{
	struct device *edit = model_edit(m, &dev->key, false);

	if (!edit)
		return fail(err, ENODEV, "%s is gone", dev->key.name);
	if (who[0]) {
		STR_COPY(edit->want.claim, who);
	} else {
		edit->want.claim[0] = '\0';
		edit->want.former_driver[0] = '\0';
		edit->want.former_override[0] = '\0';
		edit->want.former_known = false;
	}
	return 0;
}

static int claim_settle(struct model *m, const struct wish *wish, struct err *err)
{
	const struct device *dev = model_find(m, &wish->dev);
	const char *who = is_release(wish) ? "" : wish->value;
	struct group g;
	int rc;

	if (!dev)
		return fail(err, ENODEV, "%s is gone", wish->dev.name);
	rc = find_group(m, dev, &g, err);
	for (size_t i = 0; !rc && i < g.n; i++)
		rc = who[0] ? verify_claim(g.members[i], err) : verify_release(g.members[i], err);
	for (size_t i = 0; !rc && i < g.n; i++)
		rc = note(m, g.members[i], who, err);
	return rc;
}

static bool claim_down(struct model *m, const struct wish *wish)
{
	(void)m;
	return is_release(wish);
}

/* After everything that decides what the function is. */
const struct method vfio_claim = {
	.file = "claim",
	.rank = 100,
	.guarded = true,
	.can = claim_can,
	.down = claim_down,
	.expand = claim_expand,
	.settle = claim_settle,
	.prepare = claim_prepare,
};
