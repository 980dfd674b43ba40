/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a device of any class to the devices of our buses without which it would not be there. */
#ifndef PCIDEVFS_BACKEND_DEVPATH_H
#define PCIDEVFS_BACKEND_DEVPATH_H

#include <stdbool.h>

#include "pcidevfs/key.h"

struct sysfs;

/* Where a link in sysfs leads: "devices/pci0000:00/...". To be freed; NULL with errno. */
__attribute__((format(printf, 2, 3))) char *devpath_link(const struct sysfs *s, const char *fmt,
							 ...);

typedef void device_found(void *ctx, const struct key *dev);

/*
 * Tells found() each device that the one at path, below the sysfs root, hangs on: those of every
 * bus in the path, but for bridges and hubs, which have one of their bus right below them; and each
 * controller of a multipath NVMe disk. A USB stick's disk hangs on the stick and on the PCI
 * function of its host controller; an NVMe disk behind a VMD controller, which has a root bus below
 * it, hangs on both. False when there is none, as for devices made of others. A device may come
 * twice.
 */
bool devpath_devices(const struct sysfs *s, const char *path, device_found *found, void *ctx);

/*
 * Which devices a scan is about: their ids with blanks between them, or NULL for all. only_next()
 * takes the next one from *only, skipping what is not an id; it returns false at the end.
 */
bool only_next(const char **only, struct key *ret);
bool only_has(const char *only, const struct key *dev);
/* Does the device at path hang on one of them? */
bool only_below(const struct sysfs *s, const char *path, const char *only);

#endif
