/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The claim of PCI functions: its method (vfio.c), what forbids it (refuse.c), its steps
 * (vfio_steps.c). */
#ifndef PCIDEVFS_BACKEND_VFIO_H
#define PCIDEVFS_BACKEND_VFIO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "pcidevfs/model.h"
#include "pcidevfs/plan.h"

struct backend;
struct device;
struct err;
struct model;
struct sysfs;

/* What intent.former has. */
#define FORMER_DRIVER "driver"
#define FORMER_OVERRIDE "override"

extern const struct verb vfio_modprobe; /* value: the driver whose module is missing */
extern const struct verb vfio_override; /* value: the driver, "" none */
extern const struct verb vfio_unbind;	/* value: the driver it is taken from */
extern const struct verb vfio_bind;	/* value: the driver that must take it */
/* likewise, of what no driver has: nobody was asked by its unbind */
extern const struct verb vfio_bind_idle;
/* Value: the driver it had; when that is gone the kernel chooses. */
extern const struct verb vfio_rebind;
extern const struct verb vfio_probe; /* the kernel chooses */
extern const struct verb vfio_node;  /* value: /dev/vfio/<group>, waited for */
/* Value: uid:gid, who may open the group's nodes; as the claim files are by then. */
extern const struct verb vfio_own;

/* As struct claim_ops (claim.h) wants them. */
int vfio_early(const struct sysfs *s, const struct key *dev, const char *with, struct err *err);
int vfio_lift(struct backend *b, const struct key *dev, const char *former, unsigned int ms);
int vfio_give_nodes(struct backend *b, const struct key *dev, struct err *err);

/* The members that go along: bridges stay where they are. */
struct vfio_group {
	const struct device *members[CLAIM_MEMBERS];
	size_t n;
};

/* -EOPNOTSUPP: it has more members than can be acted on. */
int vfio_find_group(struct model *m, const struct device *dev, struct vfio_group *ret,
		    struct err *err);
struct node_owner {
	uid_t uid;
	gid_t gid;
};
/* Who gets the device nodes of these members: the owner of their claim files, root where they have
 * several. False: no claim file was given away, and the nodes stay as the kernel made them. */
bool vfio_owner(const struct vfio_group *g, struct node_owner *ret);

/* On vfio-pci or a variant. */
bool vfio_bound(const struct device *dev);
/* Claimed, and whoever uses it has it by that: the claim does not end before that use. */
bool vfio_serves(const struct device *dev);
/* Bound as it should be, for whom it should be. */
bool vfio_holds(const struct device *dev, const char *who);
/* Adds the steps that make it go to its vfio driver at the next bind, and to no other. */
int vfio_plan_override(const struct device *dev, struct plan *plan, struct err *err);

/* Why the group of asked cannot be claimed, if so. */
int vfio_refuse_claim(struct model *m, const struct device *asked, const struct vfio_group *g,
		      const struct request *request, const struct plan *plan, struct err *err);
/* -EOPNOTSUPP where the host has no IOMMU. */
int vfio_refuse_iommu(struct model *m, struct err *err);
/* -EOPNOTSUPP, since the group of dev is too large. */
int vfio_refuse_large(const struct device *dev, struct err *err);
/* By the same, what a claim by somebody new would be refused with now. */
extern const struct claim_rules vfio_claim_rules;
/* EBUSY when a process has the member open, or it is split into mediated devices or a vGPU. */
int vfio_refuse_held(const struct device *asked, const struct device *member, struct err *err);
/* Will the transaction have released it? */
bool vfio_released(struct model *m, const struct plan *plan, const struct device *dev);

#endif
