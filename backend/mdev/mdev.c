// SPDX-License-Identifier: GPL-2.0-or-later
/* The bus of mediated devices whose parent is a whole function: a GPU before Ampere, or any other
 * vendor's. A VF has at most one, and is shown with it (backend/gpu/). */
#include "mdev.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "backend/bus.h"
#include "backend/gpu/world.h"
#include "backend/internal.h"
#include "backend/steps.h"
#include "mdevctl.h"
#include "pcidevfs/device.h"
#include "pcidevfs/model.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/uevent.h"
#include "pcidevfs/util.h"

/* "devices/pci0000:00/0000:00:02.0/<uuid>" */
bool mdev_parent(const struct sysfs *s, const char *uuid, struct facts *f)
{
	char target[PATH_MAX], *slash;

	if (sysfs_target(s, target, MDEV_DEVICES "/%s", uuid))
		return false;
	pci_path(target, f->path, sizeof(f->path));
	slash = strrchr(target, '/');
	if (!slash)
		return false;
	*slash = '\0';
	slash = strrchr(target, '/');
	return slash && key_make(BUS_PCI, slash + 1, &f->parent);
}

int32_t mdev_group(const struct sysfs *s, const char *dir, char ret_nodes[static NODES_TEXT])
{
	char group[16];
	uint64_t n;

	ret_nodes[0] = '\0';
	if (sysfs_link(s, ROOT_SYS, group, sizeof(group), "%s/iommu_group", dir) ||
	    parse_u64(group, INT32_MAX, &n))
		return -1;
	if (sysfs_exists(s, ROOT_DEV, "vfio/%s", group))
		pci_nodes((int32_t)n, "", false, ret_nodes);
	return (int32_t)n;
}

const char *mdev_split(const char *value, char ret_type[static TYPE_ID])
{
	size_t n = strcspn(value, " ");

	snprintf(ret_type, TYPE_ID, "%.*s", (int)n, value);
	return value + n + (value[n] == ' ');
}

int mdev_make(struct backend *b, struct step *step, const char *parent, const char *type,
	      const char *uuid, unsigned int ms)
{
	if (strchr(parent, '/') || strchr(type, '/'))
		return -EINVAL;
	return step_write(b, step, ms, uuid, PCI_DEVICES "/%s/" MDEV_TYPES "/%s/create", parent,
			  type);
}

int mdev_remove(struct backend *b, struct step *step, const char *uuid, unsigned int ms)
{
	int rc = step_write(b, step, ms, "1", MDEV_DEVICES "/%s/remove", uuid);

	return rc == -ENOENT ? 0 : rc; /* it has ended by itself */
}

static int observe(const struct backend *b, const struct key *dev, struct facts *ret)
{
	const struct sysfs *s = &b->sys;
	struct facts f = facts_none;
	char dir[sizeof(MDEV_DEVICES) + KEY_NAME], details[sizeof(dir) + 16];
	int64_t node = -1;

	f.inode = sysfs_inode(s, MDEV_DEVICES "/%s", dev->name);
	if (!mdev_parent(s, dev->name, &f) ||
	    sysfs_exists(s, ROOT_SYS, PCI_DEVICES "/%s/physfn", f.parent.name))
		return -ENODEV;
	sysfs_link(s, ROOT_SYS, f.driver, sizeof(f.driver), MDEV_DEVICES "/%s/driver", dev->name);
	if (sysfs_link(s, ROOT_SYS, f.profile_id, sizeof(f.profile_id), MDEV_DEVICES "/%s/mdev_type",
		       dev->name))
		return -ENODEV;
	if (sysfs_read(s, ROOT_SYS, f.profile, sizeof(f.profile), MDEV_DEVICES "/%s/mdev_type/name",
		       dev->name) <= 0)
		STR_COPY(f.profile, f.profile_id);
	sysfs_number(s, ROOT_SYS, -1, INT32_MAX, &node, PCI_DEVICES "/%s/numa_node", f.parent.name);
	f.numa_node = (int32_t)node;
	f.use = f.driver[0] ? USE_GUEST : USE_NONE;
	snprintf(dir, sizeof(dir), MDEV_DEVICES "/%s", dev->name);
	f.iommu_group = mdev_group(s, dir, f.nodes);
	snprintf(details, sizeof(details), "%s/nvidia", dir);
	vgpu_details(s, details, &f);
	mdevctl_start(s, f.parent.name, dev->name, f.mdevctl);
	f.caps = CAP_VGPU | CAP_PORT;
	f.serial_known = true; /* it is known by its UUID */
	*ret = f;
	return 0;
}

/* That of a VF is shown with the VF. */
static bool heard(struct model *m, const struct uevent *ev, struct key *ret)
{
	const char *slash = strrchr(ev->devpath, '/');
	struct device dev;
	struct key parent;

	return !(uevent_function(ev, &parent) && model_copy(m, &parent, &dev) &&
		 device_is_vf(&dev)) &&
	       slash && key_make(BUS_MDEV, slash + 1, ret);
}

const struct bus_ops mdev_bus = {
	.devices = MDEV_DEVICES,
	.subsystem = "mdev",
	.tells_serial = true,
	.observe = observe,
	.heard = heard,
};
