/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A way of claiming devices: a row of claim.c, and the file with its functions. They serve the file
 * `claim` as a method's functions do (plan.h), for devices that the way takes. They record in
 * intent.former what the device had before. */
#ifndef PCIDEVFS_BACKEND_CLAIM_H
#define PCIDEVFS_BACKEND_CLAIM_H

#include <stdbool.h>

#include "pcidevfs/key.h"

struct backend;
struct device;
struct err;
struct method;
struct model;
struct plan;
struct sysfs;
struct request;

struct claim_ops {
	enum bus bus; /* BUS_NONE: of any */
	/* Does the way take the device? Must give the same result before, during and after the
	 * claim. Reads key and facts only. */
	bool (*fits)(const struct device *dev);
	/* Will it take the VFs of this PF, which do not exist yet? NULL: all of its bus. */
	bool (*fits_child)(const struct device *pf);
	int (*expand)(struct model *m, const struct device *dev, const struct request *request,
		      struct plan *plan, struct err *err);
	/* For a device that does not exist yet, of which only the bus is known. May be NULL. */
	int (*predict)(struct model *m, const struct request *request, struct plan *plan,
		       struct err *err);
	int (*prepare)(struct model *m, struct device *dev, const struct request *request,
		       struct err *err); /* may be NULL */
	int (*settle)(struct model *m, struct device *dev, const struct request *request,
		      struct err *err);
	/* Adds the steps by which a pod can open the claimed device, or no longer can, to those of
	 * this request for allocated_to. NULL: there are none. */
	int (*allocate)(const struct device *dev, const struct request *request, struct plan *plan,
			struct err *err);
	/* pcidevfsd --early: keeps the host's drivers away from a device that a stored intent
	 * claims. with: the driver that had it for the claim, "" if unknown. Returns 0 or -errno.
	 * NULL: there is nothing to do. */
	int (*early)(const struct sysfs *s, const struct key *dev, const char *with,
		     struct err *err);
	/* Leaves a claimed device to another owner: world.lift (txn.h). May be NULL. */
	int (*lift)(struct backend *b, const struct key *dev, const char *former, unsigned int ms);
	/* What a claim by somebody new would be refused with now, if no operation runs on the
	 * device: claim_rules.say() of model.h. NULL: the rules of vfio's groups. */
	int (*refuse)(struct model *m, const struct device *dev, struct err *err);
	/* Sets the owner of the nodes: world.give_nodes. May be NULL. */
	int (*give_nodes)(struct backend *b, const struct key *dev, struct err *err);
	/* Gives them to the pod that has the device again, as somebody else has changed them. NULL:
	 * nobody but us gives them to pods. */
	void (*keep_nodes)(struct backend *b, const struct key *dev);
};

/* NULL-terminated. */
extern const struct claim_ops *const claim_ways[];
extern const struct claim_ops usb_claim, vfio_claim, vgpu_claim;
/* Those of all ways. */
extern const struct claim_rules claim_rules;

/* The file `claim`, for all ways. */
extern const struct method claim_method;

/* Does this transaction claim the device, by a line about it or a member of its IOMMU group? */
bool claim_requested(struct model *m, const struct plan *plan, const struct device *dev);

/* For settle, in a record from model_edit(): `who` has it from now on; "": nobody. */
void claim_note(struct device *edit, const char *who);

/* Returns the first of these that takes the device; NULL: none does. */
const struct claim_ops *claim_way(const struct claim_ops *const *ways, const struct device *dev);

#endif
