/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a device of any class to the PCI functions without which it would not be there. */
#ifndef PCIDEVFS_BACKEND_DEVPATH_H
#define PCIDEVFS_BACKEND_DEVPATH_H

#include <stdbool.h>

#include "pcidevfs/key.h"

struct sysfs;

/* Where a link in sysfs leads: "devices/pci0000:00/...". To be freed; NULL with errno. */
__attribute__((format(printf, 2, 3))) char *devpath_link(const struct sysfs *s, const char *fmt,
							 ...);

/*
 * Tells found() each function that the device at path hangs on: the last one in the path, a VMD
 * controller above it, each controller of a multipath NVMe disk. False when there is none, as for
 * devices made of others. An address may come twice.
 */
bool devpath_functions(const struct sysfs *s, const char *path,
		       void (*found)(void *ctx, const char *address), void *ctx);

/*
 * Which functions a scan is about: addresses with blanks between them, or NULL for all. The next one
 * is taken from *only; false at the end, and for what is no address.
 */
bool only_next(const char **only, char ret[static KEY_NAME]);
bool only_has(const char *only, const char *address);
/* Does the device at path hang on one of them? */
bool only_below(const struct sysfs *s, const char *path, const char *only);

#endif
