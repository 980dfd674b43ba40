/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A way in which devices are claimed: a row of claim.c, and the file with its functions. They serve
 * the file claim as a method's do (plan.h), of devices that the way takes; what the device had
 * before they write into intent.former.
 */
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
	const char *name;
	enum bus bus;
	/* Does it take the device? The same before, during and after the claim. Reads key and
	 * facts. */
	bool (*fits)(const struct device *dev);
	int (*expand)(struct model *m, const struct request *request, struct plan *plan,
		      struct err *err);
	/* Of a device that is not there, so whose bus alone is known. May be NULL. */
	int (*predict)(struct model *m, const struct request *request, struct plan *plan,
		       struct err *err);
	int (*prepare)(struct model *m, const struct request *request,
		       struct err *err); /* may be NULL */
	int (*settle)(struct model *m, const struct request *request, struct err *err);
	/* pcidevfsd --early, for a device that is claimed by what is stored: no driver of the
	 * host's shall meet it. with: the driver that had it for the claim, "" not known. NULL:
	 * nothing is to be done. 0 or -errno. */
	int (*early)(const struct sysfs *s, const struct key *dev, const char *with,
		     struct err *err);
	/* Leaves a claimed device to another owner: world.lift (txn.h). May be NULL. */
	int (*lift)(struct backend *b, const struct key *dev, const char *former, unsigned int ms);
	/* Whose the nodes are: world.give_nodes. May be NULL. */
	int (*give_nodes)(struct backend *b, const struct key *dev, struct err *err);
};

/* NULL-terminated. */
extern const struct claim_ops *const claim_ways[];
extern const struct claim_ops vfio_claim;

/* The file claim, by whichever way takes the device. */
extern const struct method claim_method;

/* The first of these that takes the device; NULL: none does. */
const struct claim_ops *claim_way(const struct claim_ops *const *ways, const struct device *dev);

#endif
