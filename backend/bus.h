/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bus as it is read: where the kernel lists its devices, how one is looked at, which uevents are
 * about it. A row of bus.c, and the file with its functions. What is called what on it: base/key.c.
 */
#ifndef PCIDEVFS_BACKEND_BUS_H
#define PCIDEVFS_BACKEND_BUS_H

#include <stdbool.h>

#include "pcidevfs/key.h"

struct backend;
struct err;
struct facts;
struct roots;
struct uevent;

struct bus_ops {
	const char *devices;   /* below the sysfs root; without it there is none */
	const char *subsystem; /* of the uevents by which its devices come, go and change */
	/* All that sysfs says of it; takes no device lock. -ENODEV: there is none such (any more); another
	 * -errno: it could not be looked at, and what was known of it stays. */
	int (*observe)(const struct backend *b, const struct key *dev, struct facts *ret);
	/* Which device such an event is about. */
	bool (*heard)(const struct uevent *ev, struct key *ret);
	/* backend_early() for a device of it; NULL: no driver need be kept away before the daemon
	 * runs. */
	int (*early)(const struct roots *roots, const char *state_dir, const char *name,
		     struct err *err);
};

/* By enum bus; NULL: nobody reads it, and what others publish of it is left alone. */
extern const struct bus_ops *const buses[BUS_COUNT];

/* Is it still there? */
bool bus_shows(const struct backend *b, const struct key *dev);

#endif
