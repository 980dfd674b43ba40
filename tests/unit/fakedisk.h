/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Disks of a made-up host, for the tests of what the host needs. */
#ifndef TEST_FAKEDISK_H
#define TEST_FAKEDISK_H

#include <stdio.h>

#include "fakehost.h"

#define HBA "pci0000:00/0000:00:01.0/0000:01:00.0"
#define HBA2 "pci0000:00/0000:00:02.0/0000:02:00.0"
#define SLOT "0000:01:00.0 "
#define SLOT2 "0000:02:00.0 "

static inline void put_disk(const char *where, const char *name, unsigned int minor)
{
	char dev[32], target[1024];

	host_class("block", where, name);
	snprintf(dev, sizeof(dev), "8:%u\n", minor);
	host_file(dev, "sys/devices/%s/%s/dev", where, name);
	snprintf(target, sizeof(target), "../../devices/%s/%s", where, name);
	host_link(target, "sys/dev/block/8:%u", minor);
}

static inline void put_partition(const char *where, const char *disk, const char *name,
				 unsigned int minor)
{
	char dir[512];

	snprintf(dir, sizeof(dir), "%s/%s", where, disk);
	put_disk(dir, name, minor);
	host_file("1\n", "sys/devices/%s/%s/partition", dir, name);
}

/* upper is made of lower; both must be there. */
static inline void stack(const char *upper, const char *lower)
{
	host_link("../x", "sys/class/block/%s/slaves/%s", upper, lower);
	host_link("../x", "sys/class/block/%s/holders/%s", lower, upper);
}

#define VIRTUAL "virtual/block"
#define MOUNT(dev, point) "36 35 " dev " / " point " rw,relatime shared:1 - ext4 /dev/x rw\n"

#endif
