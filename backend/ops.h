/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A driver family or a vendor: one file (a few if it is long) that ends with its row, declared
 * below and listed in backend.c. Nothing else names it. A bus is a row of bus.h. */
#ifndef PCIDEVFS_BACKEND_OPS_H
#define PCIDEVFS_BACKEND_OPS_H

#include <stdbool.h>

#include "pcidevfs/key.h"

struct ask_row;
struct backend;
struct device;
struct err;
struct facts;
struct method;
struct model;
struct plan;
struct sysfs;
struct verb;

typedef void node_found(void *ctx, const char *address, const char *node);

/* What a look has read of a device beside its facts. */
struct extra {
	struct key key;
	void *what; /* from malloc(); NULL: nothing */
	struct extra *next;
};

struct backend_ops {
	const char *name;
	const char *help; /* what the row supports */
	/* The files that it makes writable, and their steps; NULL-terminated, or NULL. */
	const struct method *const *methods;
	const struct verb *const *verbs;
	/* What helpers are asked for it (ask.h); NULL-terminated, or NULL. */
	const struct ask_row *const *watch;
	/* Adds facts of a function to those of PCI, from files that take no device lock. at: a
	 * sysfs root at the function's directory. May be NULL. */
	void (*observe)(const struct sysfs *at, const struct key *dev, struct facts *f);
	/* Reads what the row keeps of a device beside its facts, which a look has just read. f
	 * NULL: of one whose facts should be as the model has them; false: they are not. Takes no
	 * device lock, but may wait for the driver. Of all rows one does so for a device. May be
	 * NULL. */
	bool (*extra)(struct backend *b, const struct key *dev, const struct facts *f, void **ret);
	/* Notes this in all devices of a look, which are in the model, and publishes them.
	 * noted() gives what a later look has noted. Call both with the model locked. NULL without
	 * extra(). */
	void (*after_scan)(struct model *m, const struct extra *first);
	void *(*noted)(struct model *m, const struct device *dev);
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

extern const struct backend_ops allocation_ops, mdev_ops, mig_ops, nvidia_ops, offer_ops, reset_ops, settings_ops, sriov_ops,
	usb_ops, vfconf_ops, vfio_ops, vgpu_ops;

#endif
