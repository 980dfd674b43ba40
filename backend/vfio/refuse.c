// SPDX-License-Identifier: GPL-2.0-or-later
/* What forbids a claim: a sentence each. */
#include <errno.h>
#include <string.h>

#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "vfio.h"

/* A member, and on whose behalf it is asked about. */
struct question {
	struct model *m;
	const struct device *asked, *member;
	const struct wish *wish;
	const struct plan *plan;
	const struct device *used; /* obstacle's */
};

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

/* Nobody knows what would be taken; `force` does not tell either. */
int refuse_doubt(const char *before, const struct device *dev, struct err *err)
{
	char doubt[DOUBT_TEXT];

	device_doubt(dev, doubt);
	return doubt[0] ? fail(err, EOPNOTSUPP, "%s%s", before, doubt) : 0;
}

static int refuse_unknown(const struct question *q, struct err *err)
{
	char buf[128];

	return refuse_doubt(relation(q->asked, q->member, buf), q->member, err);
}

static int refuse_needed(const struct device *dev, bool force, struct err *err)
{
	if (!dev->facts.critical[0] || dev->facts.use == USE_GUEST || force)
		return 0;
	return fail(err, EPERM, "the host needs %s: %s; it stays with the host", dev->key.name,
		    dev->facts.critical);
}

static int refuse_critical(const struct question *q, struct err *err)
{
	const struct device *asked = q->asked, *member = q->member;
	int rc = refuse_needed(member, q->wish->force, err);

	if (!rc || asked == member)
		return rc;
	return fail(err, EPERM,
		    "%s shares IOMMU group %d with %s, which the host needs: %s; the group stays "
		    "with the host",
		    asked->key.name, asked->facts.iommu_group, member->key.name,
		    member->facts.critical);
}

#define USER_TEXT 512
#define UNSURE "unsure "

/* "held by qemu (pid 7)"; false: no process does. The first line of holders is pid=N comm=NAME, the name quoted where it
 * must be. */
static bool holder_of(const struct device *dev, char buf[static USER_TEXT])
{
	const char *line = dev->facts.holders, *comm = strstr(line, "comm=");
	const bool unsure = !strncmp(line, UNSURE, strlen(UNSURE));
	int len = comm ? (int)strcspn(comm + 5, "\n") : 0;
	long pid = 0;

	if (!line[0])
		return false;
	if (len > 1 && comm[5] == '"') {
		comm++;
		len -= 2;
	}
	line += unsure ? strlen(UNSURE) : 0;
	if (sscanf(line, "pid=%ld", &pid) != 1 || !comm || !len)
		snprintf(buf, USER_TEXT, "held by a process (%.*s)", (int)strcspn(line, "\n"),
			 line);
	else
		snprintf(buf, USER_TEXT, "%sheld by %.*s (pid %ld)%s", unsure ? "perhaps " : "",
			 len, comm + 5, pid, unsure ? ", whose open files are unknown" : "");
	return true;
}

static bool is_pending(const struct device *dev)
{
	return !strcmp(dev->want.allocated, "pending");
}

/* "a/b/c", or that nobody knows it yet. */
static const char *pod_of(const struct device *dev)
{
	return is_pending(dev) ? "a pod that is not known yet" : dev->want.allocated;
}

/* ... or "allocated to a/b/c"; false: nobody uses it. */
static bool user_of(const struct device *dev, char buf[static USER_TEXT])
{
	if (!device_is_allocated(dev))
		return holder_of(dev, buf);
	snprintf(buf, USER_TEXT, "allocated to %s", pod_of(dev));
	return true;
}

int refuse_given(const struct device *dev, struct err *err)
{
	if (!dev->want.allocated[0])
		return 0;
	return fail(err, EBUSY,
		    "%s is allocated to %s, which gets it back with its claim; if no pod has it, write none to its "
		    "allocated_to first",
		    dev->key.name, pod_of(dev));
}

int refuse_open(const struct device *dev, struct err *err)
{
	char user[USER_TEXT];

	if (!holder_of(dev, user))
		return 0;
	return fail(err, EBUSY, "%s is %s; stop it and write again", dev->key.name, user);
}

int refuse_holder(const char *before, const struct device *dev, struct err *err)
{
	char user[USER_TEXT];

	if (!user_of(dev, user))
		return 0;
	return fail(err, EBUSY, "%s%s is %s; %s", before, dev->key.name, user,
		    !device_is_allocated(dev) ? "stop it and write again"
		    : is_pending(dev) ? "end that pod first, or write none to its allocated_to if no pod has it"
				      : "end that pod first");
}

/* The driver lets go only when each of them is closed, and takes them down with it. */
static int refuse_shared(const char *before, const struct device *dev, struct err *err)
{
	const struct facts *f = &dev->facts;
	const char *name = dev->key.name;

	if (f->mdevs > 1)
		return fail(
			err, EBUSY,
			"%s%s is the parent of mediated device %s and %u more; remove those first",
			before, name, f->mdev, f->mdevs - 1u);
	if (f->mdevs)
		return fail(err, EBUSY,
			    "%s%s is the parent of mediated device %s; remove that first", before,
			    name, f->mdev);
	if (f->vgpu[0])
		return fail(err, EBUSY, "%s%s is a vGPU of type %s; remove that first", before,
			    name, f->vgpu);
	return 0;
}

int refuse_used(const char *before, const struct device *dev, struct err *err)
{
	int rc = refuse_holder(before, dev, err);

	return rc ? rc : refuse_shared(before, dev, err);
}

/* The member for whose sake the group's claim cannot be ended; NULL: there is none. */
static const struct device *in_use(const struct vfio_group *g)
{
	char user[USER_TEXT];

	for (size_t i = 0; i < g->n; i++)
		if (vfio_serves(g->members[i]) && user_of(g->members[i], user))
			return g->members[i];
	return NULL;
}

static bool is_others(const struct question *q, const struct device *dev)
{
	return dev->want.claim[0] && strcmp(dev->want.claim, q->wish->value);
}

int refuse_coming(const char *before, const struct device *dev, struct err *err)
{
	bool known = dev->facts.serial_known || dev->facts.serial;

	if (!device_is_coming(dev))
		return 0;
	return fail(err, EBUSY, "%s%s is stored as claimed by %.100s, %s; write again", before,
		    dev->key.name, dev->intended,
		    known ? "which is being restored" : "and which card it is is not known yet");
}

static int refuse_intended(const struct question *q, struct err *err)
{
	char buf[128];

	if (q->wish->restores || !strcmp(q->member->intended, q->wish->value))
		return 0;
	return refuse_coming(relation(q->asked, q->member, buf), q->member, err);
}

/* How the claim in the way comes to its end. */
static const char *way_out(const struct device *dev)
{
	return strcmp(dev->busy, "claim none") ? "write none to its claim first"
					       : "its release is running: wait for it and write again";
}

/* Who is asked about says so of itself first. */
static int refuse_claimed(const struct question *q, struct err *err)
{
	const struct device *member = is_others(q, q->asked) ? q->asked : q->member;
	const struct device *used = q->used;
	char buf[128], user[USER_TEXT];

	if (!is_others(q, q->member))
		return 0;
	if (used && user_of(used, user))
		return fail(err, EBUSY,
			    "%s%s is claimed by %s and %s; end that %s first, then write none to its claim",
			    relation(q->asked, used, buf), used->key.name, used->want.claim, user,
			    device_is_allocated(used) ? "pod" : "process");
	return fail(err, EBUSY, "%s%s is claimed by %s; %s", relation(q->asked, member, buf),
		    member->key.name, member->want.claim, way_out(member));
}

int vfio_refuse_held(const struct device *asked, const struct device *member, struct err *err)
{
	char buf[128];

	return refuse_used(relation(asked, member, buf), member, err);
}

/* A guest that ran while we were away goes on with what it has: nothing of it is touched. */
static int refuse_held(const struct question *q, struct err *err)
{
	if (q->wish->restores && q->member->facts.use == USE_GUEST)
		return 0;
	return vfio_refuse_held(q->asked, q->member, err);
}

/* vfio-pci refuses a PF that has VFs and leaves it driverless; some drivers take the VFs along. */
static int refuse_pf(const struct question *q, struct err *err)
{
	const struct device *member = q->member;
	const struct wish *vfs = plan_wished(q->plan, &member->key, "sriov_numvfs");
	char buf[128];

	if (member->facts.num_vfs <= 0 || (vfs && !strcmp(vfs->value, "0")))
		return 0;
	return fail(err, EBUSY, "%s%s has %d VFs; write 0 to its sriov_numvfs first",
		    relation(q->asked, member, buf), member->key.name, member->facts.num_vfs);
}

static int refuse_vf(const struct question *q, struct err *err)
{
	const struct device *member = q->member, *pf = model_parent(q->m, member);
	char buf[128];

	if (!pf || pf->facts.use != USE_GUEST || vfio_released(q->m, q->plan, pf))
		return 0;
	return fail(
		err, EOPNOTSUPP, "%s%s is a VF of %s, which is on %s itself; release that first",
		relation(q->asked, member, buf), member->key.name, pf->key.name, pf->facts.driver);
}

int refuse_use(struct model *m, const struct device *dev, const struct wish *wish,
	       const struct plan *plan, struct err *err)
{
	const struct question q = { m, dev, dev, wish, plan, NULL };
	int rc = refuse_unknown(&q, err);

	rc = rc ? rc : refuse_critical(&q, err);
	rc = rc ? rc : refuse_pf(&q, err);
	return rc ? rc : refuse_held(&q, err);
}

int refuse_taken_away(const struct device *dev, bool force, struct err *err)
{
	int rc = refuse_needed(dev, force, err);

	return rc ? rc : refuse_used("", dev, err);
}

int refuse_step(struct model *m, const struct step *step, struct err *err)
{
	const struct device *dev = model_find(m, &step->dev);

	return dev ? refuse_taken_away(dev, step->force, err) : 0;
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

static int refuse_large(const struct question *q, struct err *err)
{
	return fail(err, EOPNOTSUPP,
		    "IOMMU group %d of %s has more than %d members, and no more can be claimed "
		    "together",
		    q->asked->facts.iommu_group, q->asked->key.name, CLAIM_MEMBERS);
}

/* As the engine refuses what is planned. */
static int refuse_busy(const struct question *q, struct err *err)
{
	return plan_refuse_busy_device(q->m, &q->member->key, NULL, NULL, err);
}

/* In the order in which they are told: what no waiting mends comes first. */
static int (*const refusals[])(const struct question *q, struct err *err) = {
	refuse_unknown,	 refuse_critical, refuse_vf,   refuse_intended,
	refuse_claimed, refuse_pf,	  refuse_held,
};

/* Whether a rule refuses does not depend on which member is asked about; only its sentence does. */
static void find_obstacle(struct question q, const struct vfio_group *g, struct obstacle *ret)
{
	*ret = (struct obstacle){ 0 };
	if (refuse_no_iommu(&q, NULL))
		ret->refuse = refuse_no_iommu;
	else if (refuse_no_group(&q, NULL))
		ret->refuse = refuse_no_group;
	for (size_t r = 0; r < ARRAY_SIZE(refusals) && !ret->refuse; r++)
		for (size_t i = 0; i < g->n && !ret->refuse; i++) {
			q.member = g->members[i];
			if (vfio_holds(q.member, q.wish->value) || !refusals[r](&q, NULL))
				continue;
			*ret = (struct obstacle){ refusals[r], q.member, in_use(g) };
		}
}

static int say_obstacle(struct question q, const struct obstacle *o, struct err *err)
{
	q.member = o->member;
	q.used = o->used;
	return o->refuse ? o->refuse(&q, err) : 0;
}

int vfio_refuse_claim(struct model *m, const struct device *asked, const struct vfio_group *g,
		      const struct wish *wish, const struct plan *plan, struct err *err)
{
	const struct question q = { m, asked, NULL, wish, plan, NULL };
	struct obstacle o;

	find_obstacle(q, g, &o);
	return say_obstacle(q, &o, err);
}

int vfio_refuse_iommu(struct model *m, struct err *err)
{
	return refuse_no_iommu(&(struct question){ .m = m }, err);
}

int vfio_refuse_large(const struct device *dev, struct err *err)
{
	return refuse_large(&(struct question){ .asked = dev }, err);
}

/* By somebody who claims nothing yet: no claim can have this name. */
static const struct wish anybody = { .file = "claim", .value = "?" };
static const struct plan alone;

static void find_any(struct model *m, const struct device *dev, struct obstacle *ret)
{
	struct vfio_group g;

	if (vfio_find_group(m, dev, &g, NULL)) {
		*ret = (struct obstacle){ .refuse = refuse_large };
		return;
	}
	find_obstacle((struct question){ m, dev, NULL, &anybody, &alone, NULL }, &g, ret);
	for (size_t i = 0; i < g.n && !ret->refuse; i++)
		if (refuse_busy(&(struct question){ .m = m, .member = g.members[i] }, NULL))
			*ret = (struct obstacle){ refuse_busy, g.members[i], NULL };
}

static int say_any(struct model *m, const struct device *dev, const struct obstacle *o,
		   struct err *err)
{
	return say_obstacle((struct question){ m, dev, NULL, &anybody, &alone, NULL }, o, err);
}

const struct claim_rules vfio_claim_rules = { find_any, say_any };

/* One member's release is the whole group's. */
bool vfio_released(struct model *m, const struct plan *plan, const struct device *dev)
{
	for (size_t i = 0; i < plan->n_wishes; i++) {
		const struct wish *w = &plan->wishes[i];
		const struct device *other;

		if (strcmp(w->file, "claim") || w->value[0] || w->virtfn)
			continue;
		other = model_find(m, &w->dev);
		if (other == dev || (other && dev->facts.iommu_group >= 0 &&
				     other->facts.iommu_group == dev->facts.iommu_group))
			return true;
	}
	return false;
}
