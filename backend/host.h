/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the daemon asks of the host rather than of a device: its modules, its kernel, its
 * firmware. */
#ifndef BACKEND_HOST_H
#define BACKEND_HOST_H

#include <stdbool.h>
#include <stddef.h>

struct out;
struct sysfs;

/* What NVIDIA's driver needs of the host. */
struct host {
	bool nvidia;	       /* its module is loaded */
	bool vgpu_vfio;	       /* likewise nvidia_vgpu_vfio, which only the vGPU host driver has */
	char lockdown[16];     /* "integrity": unsigned modules are refused; "": they are not */
	unsigned int kernel;   /* 6.8 is 608; 0: unknown */
	unsigned int branch;   /* of the loaded driver: 535; 0: unknown */
};
#define HOST_WORD "host " /* begins the line about it in an answer */

/* In a helper: appends the line "- host ...". */
void host_tell(const struct sysfs *s, struct out *ret);
/* Reads what follows HOST_WORD. Nothing is known of NULL. */
void host_read(const char *text, struct host *ret);

/* Why there is no IOMMU, as far as it can be seen, and what to do. Reads small files that take no
 * lock of a device. */
const char *host_iommu_hint(const struct sysfs *s);
/* Can a VMM map memory through VFIO: is there an IOMMU driver for /dev/vfio/vfio, or /dev/iommu? */
bool host_maps(const struct sysfs *s);

#endif
