/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The claim of PCI functions: method (vfio.c), refusals (refuse.c), steps (vfio_steps.c). */
#ifndef PCIDEVFS_BACKEND_VFIO_H
#define PCIDEVFS_BACKEND_VFIO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "pcidevfs/backend.h"
#include "pcidevfs/model.h"
#include "pcidevfs/plan.h"

struct backend;
struct device;
struct err;
struct model;
struct sysfs;

#define FORMER_OVERRIDE "override" /* in intent.former, beside those of former.h */

extern const struct verb vfio_modprobe; /* value: the driver whose module is missing */
extern const struct verb vfio_override; /* value: the driver, "" none */
extern const struct verb vfio_unbind;	/* value: the driver it is taken from */
extern const struct verb vfio_bind;	/* value: the driver that must take it */
/* likewise, for a device without a driver, whose unbind did not check its users */
extern const struct verb vfio_bind_idle;
/* Value: the driver it had; if that is gone the kernel chooses. */
extern const struct verb vfio_rebind;
/* Likewise, one that was told: the kernel chooses also if that does not take it. */
extern const struct verb vfio_rebind_told;
extern const struct verb vfio_probe; /* the kernel chooses */
extern const struct verb vfio_node;  /* value: /dev/vfio/<group>, waited for */
/* Value: uid:gid, the owner of the group's nodes; follows the claim files at that time. */
extern const struct verb vfio_own;

/* Members of struct claim_ops (claim.h). */
int vfio_early(const struct sysfs *s, const struct key *dev, const char *with, struct err *err);
int vfio_lift(struct backend *b, const struct key *dev, const char *former, unsigned int ms);
int vfio_give_nodes(struct backend *b, const struct key *dev, struct err *err);

/* ---- vfio_former.c: what a function had before its claim */
extern const struct method vfio_former;
/* Notes in a record from model_edit() what it has now, unless that is known. */
void vfio_remember(struct device *edit);
/* Adds the steps by which a function without a driver gets back the one that it had. */
int vfio_give_back(const struct device *dev, bool force, struct plan *plan, struct err *err);
/* It had the driver that the claim was told, and nothing else is known. */
bool vfio_was_told(const struct device *dev);

/* The members that are claimed together: all but bridges. */
struct vfio_group {
	const struct device *members[CLAIM_MEMBERS];
	size_t n;
};

/* -EOPNOTSUPP: the group has more members than an operation can handle. */
int vfio_find_group(struct model *m, const struct device *dev, struct vfio_group *ret,
		    struct err *err);
/* Who gets these members' nodes: the owner of their claim files, or root if they differ. False: no
 * claim file was given away, and the nodes stay as the kernel made them. */
bool vfio_owner(const struct vfio_group *g, struct node_owner *ret);

/* Is it on vfio-pci or a variant? */
bool vfio_bound(const struct device *dev);
/* It is claimed and used by means of that: the claim cannot end before the use. */
bool vfio_serves(const struct device *dev);
/* Is it bound and claimed by `who`? */
bool vfio_holds(const struct device *dev, const char *who);
/* Adds the steps by which the next bind gives it to its vfio driver, and to no other. */
int vfio_plan_override(const struct device *dev, struct plan *plan, struct err *err);

/* Refuses if the group of `asked` cannot be claimed. */
int vfio_refuse_claim(struct model *m, const struct device *asked, const struct vfio_group *g,
		      const struct request *request, const struct plan *plan, struct err *err);
/* -EOPNOTSUPP if the host has no IOMMU. */
int vfio_refuse_iommu(struct model *m, struct err *err);
/* The same rules, for a claim that somebody new would make now. */
extern const struct claim_rules vfio_claim_rules;
/* -EBUSY if a process has the member open, or it is split into mediated devices or is a vGPU. */
int vfio_refuse_held(const struct device *asked, const struct device *member, struct err *err);
/* Will the transaction release it? */
bool vfio_released(struct model *m, const struct plan *plan, const struct device *dev);

#endif
