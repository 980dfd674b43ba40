// SPDX-License-Identifier: GPL-2.0-or-later
/* Which directories below the root show which devices. A view is a row at the end of this file. */
#include <stdio.h>
#include <string.h>

#include "internal.h"
#include "pcidevfs/util.h"

static int is_device(const struct device *dev, char name[VIEW_DEPTH][OBJECT_NAME])
{
	(void)name;
	return dev->key.bus == BUS_PCI;
}

static int is_gpu(const struct device *dev, char name[VIEW_DEPTH][OBJECT_NAME])
{
	(void)name;
	return (dev->caps & (CAP_GPU | CAP_VF)) == CAP_GPU;
}

static int is_vgpu(const struct device *dev, char name[VIEW_DEPTH][OBJECT_NAME])
{
	(void)name;
	return dev->kind == KIND_VGPU;
}

static int is_vf(const struct device *dev, char name[VIEW_DEPTH][OBJECT_NAME])
{
	(void)name;
	return !!(dev->caps & CAP_VF);
}

static int is_nic(const struct device *dev, char name[VIEW_DEPTH][OBJECT_NAME])
{
	(void)name;
	return !!(dev->caps & CAP_NIC);
}

/* A name can be an entry of a directory? */
static int is_entry(const char *name)
{
	return name[0] && strcmp(name, ".") && strcmp(name, "..") && !strchr(name, '/');
}

static int in_claim(const struct device *dev, char name[VIEW_DEPTH][OBJECT_NAME])
{
	STR_COPY(name[0], dev->want.claim);
	for (char *c = name[0]; (c = strchr(c, '/'));)
		*c = '!'; /* as the kernel does with its own names */
	return is_entry(name[0]);
}

static int in_group(const struct device *dev, char name[VIEW_DEPTH][OBJECT_NAME])
{
	snprintf(name[0], OBJECT_NAME, "%d", (int)dev->facts.iommu_group);
	return dev->facts.iommu_group >= 0;
}

/* What is offered: claimed functions, under the name that they are asked for by. */
static int in_resource(const struct device *dev, char name[VIEW_DEPTH][OBJECT_NAME])
{
	char full[RESOURCE_NAME], *slash;

	device_resource(dev, full);
	slash = strchr(full, '/');
	if (!dev->want.claim[0] || !slash)
		return 0;
	*slash = '\0';
	STR_COPY(name[0], full);
	STR_COPY(name[1], slash + 1);
	return is_entry(name[0]) && is_entry(name[1]);
}

static int of_pf(const struct device *dev, char name[VIEW_DEPTH][OBJECT_NAME])
{
	STR_COPY(name[0], dev->facts.physfn);
	return is_entry(name[0]) && dev->facts.vf_index >= 0;
}

const struct view views[N_VIEWS] = {
	{ .dir = ROW_DEVICES, .member = is_device },
	{ .dir = ROW_GPUS, .member = is_gpu },
	{ .dir = ROW_VGPUS, .member = is_vgpu },
	{ .dir = ROW_VFS, .member = is_vf },
	{ .dir = ROW_NICS, .member = is_nic },
	{ .dir = ROW_CLAIMS, .path = { OBJ_CLAIM }, .member = in_claim },
	{ .dir = ROW_GROUPS, .path = { OBJ_GROUP }, .member = in_group },
	{ .dir = ROW_RESOURCES, .path = { OBJ_VENDOR, OBJ_RESOURCE }, .leaf = ROW_RES_DEVICES,
	  .member = in_resource },
	{ .dir = ROW_DEVICES, .path = { OBJ_DEVICE }, .numbered = 1, .member = of_pf },
};
