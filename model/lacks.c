// SPDX-License-Identifier: GPL-2.0-or-later
/* The answer to a write to a file that a device lacks: why, and where to write instead. And what a
 * card lacks for vGPUs. */
#include <errno.h>
#include <string.h>

#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

#define VGPU_DRIVER "load NVIDIA's vGPU host driver"
#define OF_VFS "makes vGPUs of its VFs; write to that file of a VF"
#define NO_VGPU "is not a vGPU; only VFs and mediated devices of GPUs become one"
#define NIC_ONLY "is not a VF of a network card, and only those have it"

/* Of a file the first row that fits: one of the caps, or 0. */
static const struct {
	const char *file;
	uint32_t caps;
	const char *why;
	bool driver; /* the sentence is about its driver */
} lacks[] = {
	{ "claim", CAP_PCI, "is a bridge and cannot be claimed; claim a device behind it" },
	{ "claim", CAP_USB, "is a hub and cannot be claimed; claim a device on its ports" },
	{ "create", CAP_VGPU, "can be a vGPU itself; write a type to its profile" },
	{ "create", CAP_TYPES, "makes vGPUs of its VFs; write a type to profile of a VF" },
	{ "create", CAP_VGPU_HOST, "makes no mediated devices; " VGPU_DRIVER, true },
	{ "create", CAP_PCI, "makes no mediated devices; only a vGPU driver of a GPU does", true },
	{ "profile", CAP_CREATE, "makes mediated devices; write the type to create" },
	{ "profile", CAP_TYPES, OF_VFS },
	{ "profile", CAP_VGPU_HOST, "has no vGPUs; its vgpu_support says why" },
	{ "profile", 0, NO_VGPU },
	{ "vgpu_params", CAP_CREATE, "makes mediated devices; write to that file of one of them" },
	{ "vgpu_params", CAP_TYPES, OF_VFS },
	{ "vgpu_params", 0, NO_VGPU },
	{ "enabled", CAP_NUMVFS, "is not a GPU; write the number of its VFs to sriov_numvfs" },
	{ "enabled", CAP_VGPU_HOST, "makes no VFs for vGPUs; its vgpu_support says why" },
	{ "sriov_numvfs", CAP_VF, "is a VF itself; write the number of VFs to its PF" },
	{ "sriov_numvfs", CAP_PCI,
	  "shows no SR-IOV, so it has no VFs; it cannot, or that is off in the firmware" },
	{ "reset", CAP_PCI, "cannot be reset by itself: the kernel knows no way" },
	{ "mac", 0, NIC_ONLY },
	{ "vlan", 0, NIC_ONLY },
	{ "trust", 0, NIC_ONLY },
	{ "spoofchk", 0, NIC_ONLY },
};

int device_lacks(const struct device *dev, const char *file, struct err *err)
{
	const char *name = dev->key.name, *driver = dev->facts.driver;
	size_t i = 0;

	while (i < ARRAY_SIZE(lacks) && (strcmp(lacks[i].file, file) ||
					 (lacks[i].caps && !(lacks[i].caps & dev->caps))))
		i++;
	if (i == ARRAY_SIZE(lacks))
		return fail(err, EOPNOTSUPP, "%s has no %s; its kind is %s", name, file,
			    kind_name(dev->kind));
	if (!lacks[i].driver)
		return fail(err, EOPNOTSUPP, "%s %s", name, lacks[i].why);
	if (dev->intent.claim[0] && dev->caps & CAP_VGPU_HOST)
		return fail(err, EOPNOTSUPP,
			    "%s is passed through as a whole; write none to its claim first", name);
	return driver[0] ? fail(err, EOPNOTSUPP, "driver %s of %s %s", driver, name, lacks[i].why)
			 : fail(err, EOPNOTSUPP, "%s has no driver and %s", name, lacks[i].why);
}

const char *device_vgpu_lack(const struct device *dev)
{
	const struct facts *f = &dev->facts;

	if (f->vgpu_lack[0] && (f->driver[0] || !f->vgpu_idle[0]))
		return f->vgpu_lack;
	if (!strcmp(f->mig_mode, "1") && !strcmp(f->mig_layout, "none"))
		return "no: MIG is on and the card has no instances; write profiles to "
		       "mig/layout, or 0 to mig/mode";
	if (f->vgpu_idle[0])
		return f->vgpu_idle;
	return f->profiles.len || dev->caps & CAP_CREATE ? "" : "no: its VFs list no vGPU types";
}
