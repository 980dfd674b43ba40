/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How to read a bus: where the kernel lists its devices, how to observe one, which uevents are
 * about it. A row of bus.c, and the file with its functions. Names on the bus: base/key.c. */
#ifndef PCIDEVFS_BACKEND_BUS_H
#define PCIDEVFS_BACKEND_BUS_H

#include <stdbool.h>

#include "pcidevfs/key.h"

struct ask_row;
struct backend;
struct err;
struct facts;
struct ids;
struct model;
struct names;
struct roots;
struct uevent;

struct bus_ops {
	const char *devices;   /* below the sysfs root; if it is missing the bus does not exist */
	const char *subsystem; /* of the uevents for devices that come, go and change */
	/* Reads all that sysfs has about the device; takes no device lock. -ENODEV: no such device
	 * (any more); another -errno: it could not be read, and the old facts stay. */
	int (*observe)(const struct backend *b, const struct key *dev, struct facts *ret);
	/* Gets the device that a uevent is about. May lock the model. */
	bool (*heard)(struct model *m, const struct uevent *ev, struct key *ret);
	/* The files with the names of its devices, NULL-terminated (ids.h), and how those are made
	 * of the first that is there (NULL: of none), of the ids and the device's own words. NULL:
	 * they have none. */
	const char *ids[4];
	void (*name)(const struct ids *ids, const struct facts *f, struct names *ret);
	/* backend_early() for a device of this bus; NULL: it needs no early protection from
	 * drivers. */
	int (*early)(const struct roots *roots, const char *state_dir, const char *name,
		     struct err *err);
	/* What helpers are asked about its devices (ask.h); NULL-terminated, or NULL. */
	const struct ask_row *const *watch;
	/* observe reads the serial, or needs none; else it is read aside, later */
	bool tells_serial;
	/* People plug its devices in: what the host needs of a new one is asked at once. */
	bool plugged;
};

/* By enum bus; NULL: nobody reads the bus, and what others publish of it stays. */
extern const struct bus_ops *const buses[BUS_COUNT];
extern const struct bus_ops pci_bus;

/* Does the device still exist? */
bool bus_shows(const struct backend *b, const struct key *dev);

#endif
