/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A driver family or a vendor: one file (a few where it is long) that ends with its row, declared
 * below and listed in backend.c; nothing else names it. A bus is a row of bus.h.
 */
#ifndef PCIDEVFS_BACKEND_OPS_H
#define PCIDEVFS_BACKEND_OPS_H

struct facts;
struct key;
struct method;
struct sysfs;
struct verb;

typedef void node_found(void *ctx, const char *address, const char *node);

struct backend_ops {
	const char *name;
	const char *help; /* what it knows */
	/* What can be written because of it, and the steps that takes; NULL-terminated, or NULL. */
	const struct method *const *methods;
	const struct verb *const *verbs;
	/* Adds to what PCI says of a function, from files that take no device lock. at: its sysfs
	 * root is the function's directory. May be NULL. */
	void (*observe)(const struct sysfs *at, const struct key *dev, struct facts *f);
	/* Tells the device nodes, below the dev root, of which sysfs does not say to what function
	 * they belong. Runs in a helper. 0 or -errno. May be NULL. */
	int (*nodes)(const struct sysfs *s, node_found *found, void *ctx);
};

extern const struct backend_ops *const backends[]; /* NULL-terminated */

extern const struct backend_ops allocation_ops, nvidia_ops, offer_ops, reset_ops, sriov_ops,
	vfio_ops;

#endif
