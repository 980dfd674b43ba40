/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names by which people know a device: those of its network interfaces, disks and graphics
 * cards, as the kernel has them below the device in sysfs. For any bus. */
#ifndef PCIDEVFS_BACKEND_CALLED_H
#define PCIDEVFS_BACKEND_CALLED_H

struct facts;
struct sysfs;

struct called {
	struct names_found {
		char first[32]; /* the shortest, of those the first in order */
		unsigned int n;
	} netdev, disk, drm;
	unsigned int opened; /* directories */
	unsigned int nets; /* of them, those for interfaces: an empty one is left by those elsewhere */
};

/* Adds the names below an entry of the device's directory; at has that directory as its sysfs
 * root. Most entries have none, and cost no system call. Takes no device lock. Returns 0, or
 * -EMFILE, -ENFILE, -ENOMEM: some names may be missing. */
int called_look(struct called *c, const struct sysfs *at, const char *entry);
/* "sda", "sda +7" if there are more of them, "" if there is none. */
void called_tell(const struct called *c, struct facts *ret);

#endif
