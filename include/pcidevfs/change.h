/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PCIDEVFS_CHANGE_H
#define PCIDEVFS_CHANGE_H

/* What a change touched; attribute rows and events are woken by these. */
enum change_bit {
	CH_IDENTITY = 1 << 0, /* ids, class, kind, caps: a different device */
	CH_DRIVER = 1 << 1,
	CH_GROUP = 1 << 2,
	CH_NUMA = 1 << 3,
	CH_VFS = 1 << 4,   /* number of VFs, totalvfs, physfn */
	CH_NODES = 1 << 5, /* /dev/vfio nodes, cdev */
	CH_CRITICAL = 1 << 6,
	CH_HOLDERS = 1 << 7,
	CH_NAME = 1 << 8, /* resource_name, description */
	CH_CLAIM = 1 << 9,
	CH_STATE = 1 << 10, /* state or reason */
	CH_ERROR = 1 << 11, /* last_error */
	CH_PLAN = 1 << 12,
	CH_ALLOCATED = 1 << 14,
	CH_GIVEN = 1 << 15, /* allocated_nodes, allocated_as */
	/* Kept for ourselves: wakes no poll and makes no event. The kernel asks for attributes anew, and restore
	 * looks again. */
	CH_INTERNAL = 1 << 13,
};

#endif
