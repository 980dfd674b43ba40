/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a device of any class to the devices of our buses that it depends on. */
#ifndef PCIDEVFS_BACKEND_DEVPATH_H
#define PCIDEVFS_BACKEND_DEVPATH_H

#include <stdbool.h>

#include "pcidevfs/key.h"

struct sysfs;

typedef void device_found(void *ctx, const struct key *dev);

/*
 * Calls found() for each device that the one at path, below the sysfs root, hangs on: those of
 * every bus in the path, except bridges and hubs, which have a device of their own bus right below
 * them; and each controller of a multipath NVMe disk. A USB stick's disk hangs on the stick and on
 * the PCI function of its host controller. An NVMe disk behind a VMD controller, which has a root
 * bus below it, hangs on both. A device may come twice. Returns false if there is none, as for
 * stacked devices.
 */
bool devpath_devices(const struct sysfs *s, const char *path, device_found *found, void *ctx);

/* The devices that a scan is about: ids separated by blanks, or NULL for all. only_next() takes the
 * next one from *only, skips invalid words, and returns false at the end. */
bool only_next(const char **only, struct key *ret);
bool only_has(const char *only, const struct key *dev);
/* Calls found() for each PCI function among them. Returns 0 or -errno. */
int only_functions(const struct sysfs *s, const char *only, device_found *found, void *ctx);
/* Does the device at path hang on one of them? */
bool only_below(const struct sysfs *s, const char *path, const char *only);

#endif
