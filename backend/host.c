// SPDX-License-Identifier: GPL-2.0-or-later
#include "host.h"

#include <stdio.h>
#include <string.h>

#include "backend/gpu/module_version.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"

static bool has_module(const struct sysfs *s, const char *name)
{
	return sysfs_exists(s, ROOT_SYS, "module/%s", name);
}

/* "none [integrity] confidentiality": the one in brackets holds (kernel_lockdown(7)). */
static void read_lockdown(const struct sysfs *s, struct host *h)
{
	const char *holds;
	char text[64];

	if (sysfs_read(s, ROOT_SYS, text, sizeof(text), "kernel/security/lockdown") <= 0)
		return;
	holds = strchr(text, '[');
	if (!holds || sscanf(holds, "[%15[a-z]", h->lockdown) != 1 ||
	    !strcmp(h->lockdown, "none"))
		h->lockdown[0] = '\0';
}

static void read_versions(const struct sysfs *s, struct host *h)
{
	unsigned int major, minor;
	char text[SYSFS_VALUE];
	const char *version;

	if (sysfs_read(s, ROOT_PROC, text, sizeof(text), "sys/kernel/osrelease") > 0 &&
	    sscanf(text, "%3u.%3u", &major, &minor) == 2 && minor < 100)
		h->kernel = 100 * major + minor;
	version = sysfs_read(s, ROOT_PROC, text, sizeof(text), "driver/nvidia/version") > 0
			  ? module_version(text)
			  : NULL;
	if (version)
		sscanf(version, "%4u", &h->branch);
}

void host_tell(const struct sysfs *s, struct out *ret)
{
	struct host h = { .nvidia = has_module(s, "nvidia"),
			  .vgpu_vfio = has_module(s, "nvidia_vgpu_vfio") };

	read_lockdown(s, &h);
	read_versions(s, &h);
	out_printf(ret, "- " HOST_WORD "%d %d %u %u %s\n", h.nvidia, h.vgpu_vfio, h.kernel,
		   h.branch, h.lockdown);
}

void host_read(const char *text, struct host *ret)
{
	unsigned int nvidia = 0, vgpu_vfio = 0;

	*ret = (struct host){ 0 };
	if (!text || sscanf(text, "%1u %1u %5u %4u %15[a-z]", &nvidia, &vgpu_vfio, &ret->kernel,
			    &ret->branch, ret->lockdown) < 4)
		return;
	ret->nvidia = nvidia;
	ret->vgpu_vfio = vgpu_vfio;
}

/* ---- the IOMMU */

/* Is this word on the kernel's command line? */
static bool is_booted_with(const struct sysfs *s, const char *word)
{
	char text[SYSFS_VALUE], *save = NULL;
	int n = sysfs_read(s, ROOT_PROC, text, sizeof(text), "cmdline");

	for (char *w = n > 0 ? strtok_r(text, " ", &save) : NULL; w; w = strtok_r(NULL, " ", &save))
		if (!strcmp(w, word))
			return true;
	return false;
}

/* The firmware's tables of IOMMUs: Documentation/arch/x86/iommu.rst of Linux. */
#define TABLES "firmware/acpi/tables"

static bool has_table(const struct sysfs *s, const char *name)
{
	return sysfs_exists(s, ROOT_SYS, TABLES "/%s", name);
}

static bool is_off(const struct sysfs *s, const char *unused)
{
	return is_booted_with(s, "iommu=off") || is_booted_with(s, "intel_iommu=off") ||
	       is_booted_with(s, "amd_iommu=off");
}

static bool is_asked_in_vain(const struct sysfs *s, const char *table)
{
	return has_table(s, table) && is_booted_with(s, "intel_iommu=on");
}

/* A container may see no tables at all. */
static bool lacks_tables(const struct sysfs *s, const char *table)
{
	return has_table(s, table) && !has_table(s, "DMAR") && !has_table(s, "IVRS");
}

static bool is_always(const struct sysfs *s, const char *unused)
{
	return true;
}

const char *host_iommu_hint(const struct sysfs *s)
{
	/* The first that fits. */
	static const struct {
		bool (*is)(const struct sysfs *s, const char *table);
		const char *table, *hint;
	} rows[] = {
		{ is_off, NULL,
		  "the kernel's command line turns the IOMMU off; take iommu=off, intel_iommu=off and "
		  "amd_iommu=off out of it and reboot" },
		{ is_asked_in_vain, "DMAR",
		  "the firmware offers VT-d, and the kernel was booted with intel_iommu=on, but does not "
		  "use it; dmesg | grep DMAR says why" },
		{ has_table, "DMAR",
		  "the firmware offers VT-d, but the kernel does not use it; boot with intel_iommu=on" },
		{ has_table, "IVRS",
		  "the firmware offers AMD-Vi, but the kernel does not use it; dmesg | grep AMD-Vi says "
		  "why" },
		{ lacks_tables, "FACP",
		  "the firmware offers no IOMMU; turn on VT-d or AMD-Vi in it, and boot an Intel machine "
		  "with intel_iommu=on" },
		{ is_always, NULL,
		  "turn on VT-d or AMD-Vi in the firmware and boot with intel_iommu=on or "
		  "amd_iommu=on" },
	};
	size_t i = 0;

	while (!rows[i].is(s, rows[i].table))
		i++;
	return rows[i].hint;
}

bool host_maps(const struct sysfs *s)
{
	return has_module(s, "vfio_iommu_type1") || has_module(s, "vfio_iommu_spapr_tce") ||
	       sysfs_exists(s, ROOT_DEV, "iommu");
}
