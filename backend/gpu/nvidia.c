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

#define VENDOR_NVIDIA 0x10de
#define CLASS_DISPLAY 0x03
#define GPUS "driver/nvidia/gpus"

/* Without an mdev bus a VF becomes a vGPU by a number written here. It stays with its driver, which
 * offers it to VFIO; 0: not a vGPU (spec/peers.md). A change makes no event. */
static void read_vgpu(const struct sysfs *at, struct facts *f)
{
	char text[sizeof(f->vgpu)];

	if (sysfs_read(at, ROOT_SYS, text, sizeof(text), "nvidia/current_vgpu_type") > 0 &&
	    text[0] != '0' && text[strspn(text, "0123456789")] == '\0')
		STR_COPY(f->vgpu, text);
}

/* The driver refuses sriov_numvfs: only its own tool makes VFs. */
static void observe(const struct sysfs *at, const struct key *dev, struct facts *f)
{
	bool gpu = f->vendor == VENDOR_NVIDIA && f->class_code >> 16 == CLASS_DISPLAY;

	(void)dev;
	f->own_vfs |= gpu && f->total_vfs >= 0;
	if (gpu && f->parent.bus)
		read_vgpu(at, f);
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
