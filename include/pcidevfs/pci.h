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
struct known;
struct sysfs;

#define PCI_DEVICES "bus/pci/devices"
#define PCI_PROBE "bus/pci/drivers_probe" /* an address: the kernel chooses a driver */

/* By class and driver. */
enum use pci_use(const struct facts *f);
/* The nodes of a function on a vfio driver. group: -1 if its node does not exist; cdev: "vfio0", ""
 * if none; iommufd: /dev/iommu exists. */
void pci_nodes(int32_t group, const char *cdev, bool iommufd, char ret[static NODES_TEXT]);

/* Makes a text fit for a sentence. */
void pci_quote(char *text);

/* Fills struct facts except index (-1; it needs the PF, see pci_vfs), serial, facts about vfio
 * drivers, critical and holders (""). Absent or garbled values read as if the kernel had none, but
 * a PF stays one. facts.garbled tells garbled values and an absent id or class. Returns 0, -ENODEV
 * if there is no such function (any more), or -errno if we failed to look. known (may be NULL): its
 * ids are read once (backend/known.h). */
int pci_observe(const struct sysfs *s, struct known *known, const struct key *dev,
		struct facts *ret);

/* Where a device sits: its resolved path in sysfs without bus numbers, "0000:00/1c.4/00.0". "" if
 * it does not fit. Pure. */
void pci_path(const char *target, char *ret, size_t size);

/* The function below which its domain is ("…/0000:00:0e.0/pci10000:e0/…"); BUS_NONE: none. Pure. */
void pci_behind(const char *target, struct key *ret);

/* at: with a sysfs root at the function's directory. Leave ret as it is if there is none. */
void host_serial_nvme(const struct sysfs *at, char ret[static HOST_SERIAL]);
/* The permanent address: others are set by programs. */
void host_serial_net(const struct sysfs *at, char ret[static HOST_SERIAL]);

/* Is this interface of the function there, and set down? Takes no lock. */
bool pci_is_down(const struct sysfs *s, const struct key *dev, const char *netdev);

/* Calls found() for each virtfn<index> link of the PF, in no order. Returns 0 or -ENODEV. */
int pci_vfs(const struct sysfs *s, const struct key *pf,
	    void (*found)(void *ctx, int index, const struct key *vf), void *ctx);

/* The index of this VF of the PF, or -ENODEV. */
int pci_vf_index(const struct sysfs *s, const struct key *pf, const char *vf);

/* backend_early() for a PCI function. */
int pci_early(const struct roots *roots, const char *state_dir, const char *address,
	      struct err *err);

#endif
