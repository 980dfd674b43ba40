/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A driver family or a vendor: one file (a few if it is long) that ends with its row, declared
 * below and listed in backend.c. Nothing else names it. A bus is a row of bus.h. */
#ifndef PCIDEVFS_BACKEND_OPS_H
#define PCIDEVFS_BACKEND_OPS_H

#include <stdbool.h>

struct device;
struct err;
struct facts;
struct key;
struct method;
struct plan;
struct sysfs;
struct verb;

typedef void node_found(void *ctx, const char *address, const char *node);

struct backend_ops {
	const char *name;
	const char *help; /* what the row supports */
	/* The files that it makes writable, and their steps; NULL-terminated, or NULL. */
	const struct method *const *methods;
	const struct verb *const *verbs;
	/* Adds facts of a function to those of PCI, from files that take no device lock. at: a
	 * sysfs root at the function's directory. May be NULL. */
	void (*observe)(const struct sysfs *at, const struct key *dev, struct facts *f);
	/* Adds the steps that must come before a function is taken from its driver. May be NULL. */
	int (*let_go)(const struct device *dev, struct plan *plan, struct err *err);
	/* Adds the steps that must come before a function goes back from a guest to its driver. May
	 * be NULL. */
	int (*give_back)(const struct device *dev, bool force, struct plan *plan, struct err *err);
	/* Calls found() for device nodes, below the dev root, whose function sysfs does not tell.
	 * Runs in a helper. Returns 0 or -errno. May be NULL. */
	int (*nodes)(const struct sysfs *s, node_found *found, void *ctx);
};

extern const struct backend_ops *const backends[]; /* NULL-terminated */

extern const struct backend_ops allocation_ops, mdev_ops, nvidia_ops, offer_ops, reset_ops, sriov_ops,
	usb_ops, vfconf_ops, vfio_ops, vgpu_ops;

#endif
