/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A device for tests of the plugin's table and answers. */
#ifndef TESTS_PLUGINDEV_H
#define TESTS_PLUGINDEV_H

#include "plugin/kubelet/devices.h"
#include "pcidevfs/util.h"

static inline int take(struct devices *t, const char *id, const char *pairs)
{
	char copy[1024];

	STR_COPY(copy, pairs);
	return devices_take(t, id, copy);
}

#define NIC                                                                                        \
	"vendor=0x8086 numa_node=-1 resource_name=intel.com/NIC-X.1 claim=alice iommu_group=14 "   \
	"nodes=\"/dev/vfio/vfio /dev/vfio/14\" state=claimed reason=\"claimed by alice\" allocated_to=none"

#endif
