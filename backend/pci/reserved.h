/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of functions that the firmware, or the framebuffer that it has left, keeps. */
#ifndef PCIDEVFS_BACKEND_RESERVED_H
#define PCIDEVFS_BACKEND_RESERVED_H

#include <stdbool.h>
#include <stddef.h>

#include "backend/ask.h"

struct out;
struct sysfs;

#define FRAMEBUFFER_NAME 20

/* Pure. text: reserved_regions of a group (RMRR, IVMD, RMR), lines "START END TYPE". A line of type "direct" is a
 * region that must stay mapped as it is, so the kernel attaches the group to no guest; the others
 * ("direct-relaxable", "msi", "reserved") it lets pass. -EINVAL: a line is none. */
int reserved_parse(const char *text, bool *ret);

/* A PCI function tells enum reserved, or the -errno. The kernel takes the group's lock for it,
 * under which it may wait for a device. */
ask_tell reserved_tell;
/* Asks about these devices' groups. Returns 0 or -errno with the sentence. Text that makes no sense
 * is noted, and the rules of a claim refuse it; it is read again. */
int reserved_of(struct backend *b, const struct touched *of, size_t n, struct err *err);

/* Pure. text: /proc/iomem, in which a region's indentation tells what it lies in, also to those who
 * see no addresses. ret: the framebuffer of the firmware ("BOOTFB", "efifb") that lies in the memory
 * of this function; "": none. */
void framebuffer_in(const char *text, const char *function, char ret[static FRAMEBUFFER_NAME]);

/* Likewise of the running kernel; if that tells nothing ret stays as it is. A kernel since 6.0
 * takes the framebuffers that it knows of away when a vfio driver comes. -ENOMEM */
int framebuffer_find(const struct sysfs *s, const char *function,
		     char ret[static FRAMEBUFFER_NAME]);

#endif
