// SPDX-License-Identifier: GPL-2.0-or-later
/* What forbids a claim: one sentence each. */
#include <errno.h>
#include <string.h>

#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "vfio.h"
#include "backend/use.h"

#define GROUP_USB 512 /* devices of a controller */

/* A member, and the device on whose behalf it is asked about. */
struct question {
	struct model *m;
	const struct device *asked, *member;
	const char *before; /* of a sentence about the member: relation() */
	const struct request *request;
	const struct plan *plan;
	const struct device *used; /* as in struct obstacle */
};

/* The beginning of a sentence about a member: why it is asked about. */
static const char *relation(const struct device *asked, const struct device *member,
			    char buf[static 128])
{
	if (asked == member)
		return "";
	snprintf(buf, 128, "%s shares IOMMU group %d with %s: ", asked->key.name,
		 asked->facts.iommu_group, member->key.name);
	return buf;
}

static int refuse_unknown(const struct question *q, struct err *err)
{
	return refuse_doubt(q->before, q->member, err);
}

/* Says so of the group: the kernel does not tell which member needs that memory. */
static int refuse_reserved(const struct question *q, struct err *err)
{
	if (q->member->facts.reserved == RESERVED_ODD)
		return fail(err, EOPNOTSUPP,
			    "whether the firmware reserves memory for IOMMU group %d of %s cannot "
			    "be determined: its reserved_regions makes no sense",
			    q->asked->facts.iommu_group, q->asked->key.name);
	if (q->member->facts.reserved != RESERVED_SOME)
		return 0;
	return fail(err, EOPNOTSUPP,
		    "the firmware reserves memory for IOMMU group %d of %s (RMRR or IVMD), so the "
		    "kernel gives it to no guest; in the firmware, turn off shared memory for its "
		    "slot or pre-boot DMA protection",
		    q->asked->facts.iommu_group, q->asked->key.name);
}

static int refuse_critical(const struct question *q, struct err *err)
{
	const struct device *asked = q->asked, *member = q->member;
	int rc = refuse_needed_claim(q->m, member, q->request, err);

	if (!rc || asked == member || (q->request->restores && member->intent.forced[0]))
		return rc;
	return fail(err, EPERM,
		    "%s shares IOMMU group %d with %s, which the host needs: %s; the group stays "
		    "with the host unless ctl has a line \"force %s\"",
		    asked->key.name, asked->facts.iommu_group, member->key.name,
		    member->facts.critical, asked->key.name);
}

/* The member whose use keeps the group's claim from ending; NULL: none. */
static const struct device *in_use(const struct vfio_group *g)
{
	char user[USER_TEXT];

	for (size_t i = 0; i < g->n; i++)
		if (vfio_serves(g->members[i]) && use_text(g->members[i], user))
			return g->members[i];
	return NULL;
}

static bool is_others(const struct question *q, const struct device *dev)
{
	return dev->intent.claim[0] && strcmp(dev->intent.claim, q->request->value);
}

static int refuse_intended(const struct question *q, struct err *err)
{
	if (q->request->restores || !strcmp(q->member->intended, q->request->value))
		return 0;
	return refuse_coming(q->before, q->member, err);
}

/* How to end the claim that is in the way. */
static const char *way_out(const struct device *dev)
{
	return strcmp(dev->busy, "claim none")
		       ? "write none to its claim first"
		       : "its release is running: wait for it and write again";
}

/* If the asked device has such a claim itself, names that first. */
static int refuse_claimed(const struct question *q, struct err *err)
{
	const struct device *member = is_others(q, q->asked) ? q->asked : q->member;
	const struct device *used = q->used;
	char buf[128], user[USER_TEXT];

	if (!is_others(q, q->member))
		return 0;
	if (used && use_text(used, user))
		return fail(
			err, EBUSY,
			"%s%s is claimed by %s and %s; end that %s first, then write none to its claim",
			relation(q->asked, used, buf), used->key.name, used->intent.claim, user,
			device_is_allocated(used) ? "pod" : "process");
	return fail(err, EBUSY, "%s%s is claimed by %s; %s", relation(q->asked, member, buf),
		    member->key.name, member->intent.claim, way_out(member));
}

int vfio_refuse_held(const struct device *asked, const struct device *member, struct err *err)
{
	char buf[128];

	return refuse_used(relation(asked, member, buf), member, err);
}

/* A guest that ran while the daemon was away, or before it came, keeps its device, untouched. */
static int refuse_held(const struct question *q, struct err *err)
{
	bool adopts = plan_requested(q->plan, &q->member->key, vfio_former.file);

	if ((q->request->restores || adopts) && q->member->facts.use == USE_GUEST)
		return 0;
	return vfio_refuse_held(q->asked, q->member, err);
}

static int refuse_pf(const struct question *q, struct err *err)
{
	return refuse_parent(q->before, q->member, q->plan, err);
}

static int refuse_vf(const struct question *q, struct err *err)
{
	const struct device *member = q->member, *pf = model_parent(q->m, member);

	if (!pf || pf->facts.use != USE_GUEST || vfio_released(q->m, q->plan, pf))
		return 0;
	return fail(
		err, EOPNOTSUPP, "%s%s is a VF of %s, which is on %s itself; release that first",
		q->before, member->key.name, pf->key.name, pf->facts.driver);
}

/* The device goes away when its controller, the member, is claimed. */
static int refuse_carried(const struct question *q, const char *what, const struct device *dev,
			  const char *claim, struct err *err)
{
	return fail(err, EBUSY,
		    "%s%s carries %s%s, which is claimed by %s; write none to its claim first",
		    q->before, q->member->key.name, what, dev->key.name,
		    claim);
}

static int refuse_usb(const struct question *q, struct err *err)
{
	const struct device *usb[GROUP_USB];
	size_t n = model_children(q->m, &q->member->key, BUS_USB, usb, GROUP_USB);
	char claim[CLAIM_NAME];

	for (size_t i = 0; i < n && i < GROUP_USB; i++) {
		const struct request *also = plan_requested(q->plan, &usb[i]->key, "claim");

		device_claim(usb[i], claim);
		if (also && also->value[0])
			return fail(err, EINVAL,
				    "%s%s carries USB device %s, which goes away when its "
				    "controller is claimed; this transaction claims both",
				    q->before, q->member->key.name,
				    usb[i]->key.name);
		if (claim[0])
			return refuse_carried(q, "USB device ", usb[i], claim, err);
	}
	return 0;
}

/* A controller is claimed without what is behind it. VFs have nothing there, and large groups. */
static int refuse_vmd(const struct question *q, struct err *err)
{
	const struct device *behind[CLAIM_MEMBERS];
	size_t n = device_is_vf(q->member)
			   ? 0
			   : model_group(q->m, q->member->facts.iommu_group, behind, CLAIM_MEMBERS);
	char claim[CLAIM_NAME];

	for (size_t i = 0; i < n && i < CLAIM_MEMBERS; i++) {
		if (!key_eq(&behind[i]->facts.behind, &q->member->key))
			continue;
		device_claim(behind[i], claim);
		if (claim[0])
			return refuse_carried(q, "", behind[i], claim, err);
	}
	return 0;
}

static int refuse_no_iommu(const struct question *q, struct err *err)
{
	if (model_has_iommu(q->m))
		return 0;
	return fail(err, EOPNOTSUPP,
		    "this host has no IOMMU; turn on VT-d or AMD-Vi in the firmware "
		    "and boot with intel_iommu=on or amd_iommu=on");
}

static int refuse_no_group(const struct question *q, struct err *err)
{
	if (q->asked->facts.iommu_group >= 0)
		return 0;
	return fail(err, EOPNOTSUPP,
		    "%s is in no IOMMU group, so the host cannot be protected from "
		    "it; the firmware may leave it out of the IOMMU's tables",
		    q->asked->key.name);
}

/* Its driver makes their domain, so that they go with it: none can be claimed by itself. */
static int refuse_is_behind(const struct question *q, struct err *err)
{
	const struct key *vmd = &q->asked->facts.behind;

	if (!vmd->bus)
		return 0;
	return fail(err, EOPNOTSUPP,
		    "%s is behind VMD %s; turn VMD off in the firmware, or claim that controller",
		    q->asked->key.name, vmd->name);
}

static int refuse_large(const struct question *q, struct err *err)
{
	return fail(err, EOPNOTSUPP,
		    "IOMMU group %d of %s has more than %d members, the most that can be claimed "
		    "together",
		    q->asked->facts.iommu_group, q->asked->key.name, CLAIM_MEMBERS);
}

/* The same as the engine's refusal of a plan. */
static int refuse_busy(const struct question *q, struct err *err)
{
	return plan_refuse_busy_device(q->m, &q->member->key, NULL, NULL, err);
}

/* In the order of reporting: reasons that waiting does not remove come first. */
static int (*const refusals[])(const struct question *q, struct err *err) = {
	refuse_unknown,	 refuse_reserved, refuse_critical, refuse_vf,	refuse_intended,
	refuse_claimed, refuse_pf,	  refuse_usb,	   refuse_vmd,	refuse_held,
};

/* The result does not depend on which member is asked about; only the sentence does. */
static void find_obstacle(struct question q, const struct vfio_group *g, struct obstacle *ret)
{
	*ret = (struct obstacle){ 0 };
	if (refuse_no_iommu(&q, NULL))
		ret->refuse = refuse_no_iommu;
	else if (refuse_no_group(&q, NULL))
		ret->refuse = refuse_no_group;
	else if (refuse_is_behind(&q, NULL))
		ret->refuse = refuse_is_behind;
	for (size_t r = 0; r < ARRAY_SIZE(refusals) && !ret->refuse; r++)
		for (size_t i = 0; i < g->n && !ret->refuse; i++) {
			q.member = g->members[i];
			if (vfio_holds(q.member, q.request->value) || !refusals[r](&q, NULL))
				continue;
			*ret = (struct obstacle){ refusals[r], q.member, in_use(g) };
		}
}

static int say_obstacle(struct question q, const struct obstacle *o, struct err *err)
{
	char buf[128];

	q.member = o->member;
	q.before = o->member ? relation(q.asked, o->member, buf) : "";
	q.used = o->used;
	return o->refuse ? o->refuse(&q, err) : 0;
}

int vfio_refuse_claim(struct model *m, const struct device *asked, const struct vfio_group *g,
		      const struct request *request, const struct plan *plan, struct err *err)
{
	const struct question q = { m, asked, NULL, "", request, plan, NULL };
	struct obstacle o;

	find_obstacle(q, g, &o);
	return say_obstacle(q, &o, err);
}

int vfio_refuse_iommu(struct model *m, struct err *err)
{
	return refuse_no_iommu(&(struct question){ .m = m }, err);
}

int vfio_find_group(struct model *m, const struct device *dev, struct vfio_group *ret,
		    struct err *err)
{
	bool cut;

	ret->n = model_claim_members(m, dev, ret->members, &cut);
	return cut ? refuse_large(&(struct question){ .asked = dev }, err) : 0;
}

/* Somebody who claims nothing yet: no claim can have this name. */
static const struct request anybody = { .file = "claim", .value = "?" };
static const struct plan alone;

static void find_any(struct model *m, const struct device *dev, struct obstacle *ret)
{
	struct vfio_group g;

	if (vfio_find_group(m, dev, &g, NULL)) {
		*ret = (struct obstacle){ .refuse = refuse_large };
		return;
	}
	find_obstacle((struct question){ m, dev, NULL, "", &anybody, &alone, NULL }, &g, ret);
	for (size_t i = 0; i < g.n && !ret->refuse; i++)
		if (refuse_busy(&(struct question){ .m = m, .member = g.members[i] }, NULL))
			*ret = (struct obstacle){ refuse_busy, g.members[i], NULL };
}

static int say_any(struct model *m, const struct device *dev, const struct obstacle *o,
		   struct err *err)
{
	return say_obstacle((struct question){ m, dev, NULL, "", &anybody, &alone, NULL }, o, err);
}

const struct claim_rules vfio_claim_rules = { find_any, say_any };

/* Releasing one member releases the whole group. */
bool vfio_released(struct model *m, const struct plan *plan, const struct device *dev)
{
	for (size_t i = 0; i < plan->n_requests; i++) {
		const struct request *w = &plan->requests[i];
		const struct device *other;

		if (strcmp(w->file, "claim") || w->value[0] || w->child)
			continue;
		other = model_find(m, &w->dev);
		if (other == dev || (other && dev->facts.iommu_group >= 0 &&
				     other->facts.iommu_group == dev->facts.iommu_group))
			return true;
	}
	return false;
}
