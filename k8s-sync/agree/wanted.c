// SPDX-License-Identifier: GPL-2.0-or-later
#include "wanted.h"

#include <string.h>

#include "inventory.h"
#include "pcidevfs/key.h"

/* Harvester keeps its management network (spec/harvester.md 4.6). */
static bool is_management(const struct inv_dev *d)
{
	const char *why = dev_get(d, "host_critical");

	return strstr(why, "mgmt-br") || strstr(why, "mgmt-bo");
}

static bool is_pci(const struct inv_dev *d)
{
	struct pci_addr addr;

	return pci_addr_parse(d->id, &addr);
}

static bool is_kind(const struct inv_dev *d, const char *kind)
{
	return !strcmp(dev_get(d, "kind"), kind);
}

static bool nic_has_vfs(const struct inv_dev *d)
{
	const char *vfs = dev_get(d, "sriov_numvfs");

	return is_kind(d, "sriov-nic") && *vfs && strcmp(vfs, "0");
}

bool wanted_pci(const struct world *w, const struct inv_dev *d)
{
	(void)w;
	return is_pci(d) && strncmp(dev_get(d, "class"), "0x0604", 6) && !is_management(d) &&
	       !nic_has_vfs(d);
}

bool wanted_gpu(const struct world *w, const struct inv_dev *d)
{
	(void)w;
	return is_pci(d) && is_kind(d, "sriov-gpu") && dev_has(d, "enabled");
}

bool wanted_vgpu(const struct world *w, const struct inv_dev *d)
{
	(void)w;
	return is_pci(d) && is_kind(d, "vgpu") && dev_has(d, "profile");
}
