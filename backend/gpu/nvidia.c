// SPDX-License-Identifier: GPL-2.0-or-later
/* Peculiarities of NVIDIA's driver. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backend/ops.h"
#include "pcidevfs/device.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"
#include "backend/pci/variant.h"
#include "world.h"

#define VENDOR_NVIDIA 0x10de
#define CLASS_DISPLAY 0x03
#define GPUS "driver/nvidia/gpus"

/* MIG-only cards show a VF's id of 0: they make no vGPUs (spec/harvester.md 4.7). */
static bool makes_vgpus(const struct sysfs *at)
{
	char id[16];

	return sysfs_read(at, ROOT_SYS, id, sizeof(id), "sriov_vf_device") > 0 &&
	       id[strspn(id, "0x")];
}

/* The driver refuses sriov_numvfs: only its own tool makes VFs, and of them vGPUs. */
static void observe(const struct sysfs *at, const struct key *dev, struct facts *f)
{
	bool gpu = f->vendor == VENDOR_NVIDIA && f->class_code >> 16 == CLASS_DISPLAY;
	const struct vgpu_world *world;

	(void)dev;
	f->own_vfs |= gpu && f->total_vfs >= 0;
	if (!gpu)
		return;
	if (!f->parent.bus)
		f->caps |= CAP_VGPU_HOST | (f->total_vfs > 0 && makes_vgpus(at) ? CAP_ENABLE : 0);
	if (!f->parent.bus)
		return;
	f->caps |= CAP_VGPU | CAP_ENABLE;
	f->kind = KIND_VGPU;
	world = driver_is_vfio(f->driver) ? NULL : vgpu_world_at(at);
	if (world)
		world->observe(at, f);
}

/* Reads the node's number from a line such as "Device Minor: \t 0". False if there is none. */
static bool read_node(const struct sysfs *s, const char *address, char *ret, size_t size)
{
	static const char key[] = "Device Minor:";
	char text[SYSFS_VALUE];
	const char *minor;
	size_t digits;

	if (sysfs_read(s, ROOT_PROC, text, sizeof(text), GPUS "/%s/information", address) < 0)
		return false;
	minor = strstr(text, key);
	if (!minor)
		return false;
	minor += strlen(key);
	minor += strspn(minor, " \t");
	digits = strspn(minor, "0123456789");
	if (!digits || digits > 9)
		return false;
	snprintf(ret, size, "nvidia%.*s", (int)digits, minor);
	return true;
}

/* The proprietary driver's nodes have no device in sysfs. */
static int nodes(const struct sysfs *s, node_found *found, void *ctx)
{
	_closedir_ DIR *dir = sysfs_dir(s, ROOT_PROC, GPUS);
	const struct dirent *e;
	struct pci_addr addr;
	char node[32];

	if (!dir)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	while ((e = readdir(dir)))
		if (pci_addr_parse(e->d_name, &addr) && read_node(s, e->d_name, node, sizeof(node)))
			found(ctx, e->d_name, node);
	return 0;
}

const struct backend_ops nvidia_ops = {
	.name = "nvidia",
	.help = "GPUs whose VFs the driver makes itself, and the nodes /dev/nvidia<N>",
	.observe = observe,
	.nodes = nodes,
};
