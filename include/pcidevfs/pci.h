/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One PCI function as the kernel shows it, from files that take no device lock. */
#ifndef PCIDEVFS_PCI_H
#define PCIDEVFS_PCI_H

#include <stdbool.h>
#include <stddef.h>

#include "pcidevfs/facts.h"

struct err;
struct roots;
struct key;
struct sysfs;

#define PCI_DEVICES "bus/pci/devices"

/* By class and driver. */
enum use pci_use(const struct facts *f);
/* The nodes of a function on a vfio driver. group: -1 where its node is not there; cdev: "vfio0",
 * "" none; iommufd: /dev/iommu is there. */
void pci_nodes(int32_t group, const char *cdev, bool iommufd, char ret[static NODES_TEXT]);

/* Everything in struct facts but index (-1; it takes the PF, see pci_vfs), serial and what is known
 * of vfio drivers, critical and holders (""). What is absent or garbled is as if the kernel had
 * none, but a PF stays one; the latter, and an id or a class that is absent, is told in
 * facts.garbled. Returns 0, -ENODEV when there is no such function (any more), or -errno when it is
 * we who could not look. */
int pci_observe(const struct sysfs *s, const struct key *dev, struct facts *ret);

/* Where a device sits, from its resolved path in sysfs and without bus numbers:
 * "0000:00/1c.4/00.0". "" when it does not fit. Pure. */
void pci_path(const char *target, char *ret, size_t size);

/* Tells the PF's virtfn<index> links, in no order. 0 or -ENODEV. */
int pci_vfs(const struct sysfs *s, const struct key *pf,
	    void (*found)(void *ctx, int index, const struct key *vf), void *ctx);

/* backend_early() for a PCI function. */
int pci_early(const struct roots *roots, const char *state_dir, const char *address,
	      struct err *err);

#endif
