// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/pci.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "ops.h"
#include "pcidevfs/device.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"

/* An index more than 16 bits wide is none: SR-IOV counts VFs in 16. */
static int virtfn_index(const char *name)
{
	uint64_t n;

	if (strncmp(name, "virtfn", 6) || parse_u64(name + 6, UINT16_MAX, &n))
		return -1;
	return (int)n;
}

/* at: its sysfs root is the device's directory. */
static int64_t number(const struct sysfs *at, const char *name, int64_t max, int64_t otherwise)
{
	int64_t n;

	return sysfs_number(at, ROOT_SYS, -1, max, &n, "%s", name) || n < 0 ? otherwise : n;
}

static void read_ids(const struct sysfs *at, struct facts *f)
{
	f->vendor = (uint16_t)number(at, "vendor", UINT16_MAX, 0);
	f->device = (uint16_t)number(at, "device", UINT16_MAX, 0);
	f->class_code = (uint32_t)number(at, "class", 0xffffff, 0);
	f->subvendor = (uint16_t)number(at, "subsystem_vendor", UINT16_MAX, 0);
	f->subdevice = (uint16_t)number(at, "subsystem_device", UINT16_MAX, 0);
	f->revision = (uint8_t)number(at, "revision", UINT8_MAX, 0);
}

static void read_numa(const struct sysfs *at, struct facts *f)
{
	f->numa_node = (int32_t)number(at, "numa_node", INT32_MAX, -1);
}

static void read_boot_vga(const struct sysfs *at, struct facts *f)
{
	f->boot_vga = number(at, "boot_vga", 1, 0) == 1;
}

static void read_total_vfs(const struct sysfs *at, struct facts *f)
{
	f->total_vfs = (int32_t)number(at, "sriov_totalvfs", UINT16_MAX, -1);
}

static void read_autoprobe(const struct sysfs *at, struct facts *f)
{
	f->autoprobe = number(at, "sriov_drivers_autoprobe", 1, 0) == 1;
}

static void read_reset(const struct sysfs *at, struct facts *f)
{
	(void)at;
	f->has_reset = true;
}

static void read_driver(const struct sysfs *at, struct facts *f)
{
	if (sysfs_link(at, ROOT_SYS, f->driver, sizeof(f->driver), "driver"))
		f->driver[0] = '\0';
}

static void read_physfn(const struct sysfs *at, struct facts *f)
{
	char name[KEY_NAME];
	struct key pf;

	if (!sysfs_link(at, ROOT_SYS, name, sizeof(name), "physfn") && key_make(BUS_PCI, name, &pf))
		STR_COPY(f->physfn, pf.name);
}

static void read_group(const struct sysfs *at, struct facts *f)
{
	char name[16];
	uint64_t n;

	if (!sysfs_link(at, ROOT_SYS, name, sizeof(name), "iommu_group") &&
	    !parse_u64(name, INT32_MAX, &n))
		f->iommu_group = (int32_t)n;
}

/* vfio-dev/ is there on kernels without cdevs too; the node tells. */
static void read_cdev(const struct sysfs *at, struct facts *f)
{
	_closedir_ DIR *dir = sysfs_dir(at, ROOT_SYS, "vfio-dev");
	const struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (!strncmp(e->d_name, "vfio", 4) && strlen(e->d_name) < sizeof(f->vfio_cdev) &&
		    sysfs_exists(at, ROOT_DEV, "vfio/devices/%s", e->d_name))
			STR_COPY(f->vfio_cdev, e->d_name);
	f->iommufd = f->vfio_cdev[0] && sysfs_exists(at, ROOT_DEV, "iommu");
}

/* What may be absent is read only where the directory lists it: a failing open costs as much as one
 * that succeeds, and most functions have few of these. */
static const struct {
	const char *name;
	void (*read)(const struct sysfs *at, struct facts *f);
} entries[] = {
	{ "vendor", read_ids },
	{ "numa_node", read_numa },
	{ "boot_vga", read_boot_vga },
	{ "sriov_totalvfs", read_total_vfs },
	{ "sriov_drivers_autoprobe", read_autoprobe },
	{ "reset", read_reset },
	{ "driver", read_driver },
	{ "physfn", read_physfn },
	{ "iommu_group", read_group },
	{ "vfio-dev", read_cdev },
};

static void read_entry(const struct sysfs *at, const char *name, struct facts *f)
{
	if (virtfn_index(name) >= 0)
		f->num_vfs++;
	for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
		if (!strcmp(name, entries[i].name))
			entries[i].read(at, f);
}

/* One part of a device path into the place without bus numbers. False when there is no room. */
static bool add_hop(char *ret, size_t size, const char *part)
{
	size_t at = strlen(ret), n = strlen(part);
	struct key key;
	int len;

	if (!strncmp(part, "pci", 3))
		/* A second root, as VMD makes, is where its bridge is: its domain is only counted up. */
		len = at ? 0 : snprintf(ret, size, "%s", part + 3);
	else if (key_make(BUS_PCI, part, &key) && at && n >= 4)
		len = snprintf(ret + at, size - at, "/%s", part + n - 4); /* dd.f */
	else
		len = 0;
	return len >= 0 && at + (size_t)len < size;
}

void pci_path(const char *target, char *ret, size_t size)
{
	char copy[1024], *save = NULL;

	ret[0] = '\0';
	if (!str_copy(copy, sizeof(copy), target))
		return;
	for (char *part = strtok_r(copy, "/", &save); part; part = strtok_r(NULL, "/", &save))
		if (!add_hop(ret, size, part)) {
			ret[0] = '\0';
			return;
		}
}

/* Of the PF for a VF: that is what stays where it is. -ENOENT: it is gone. */
static int read_path(const struct sysfs *s, const struct key *dev, struct facts *f)
{
	char path[KEY_NAME + sizeof(PCI_DEVICES) + 1], target[1024];
	ssize_t n;

	snprintf(path, sizeof(path), PCI_DEVICES "/%s", f->physfn[0] ? f->physfn : dev->name);
	n = readlinkat(s->fd[ROOT_SYS], path, target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	target[n] = '\0';
	pci_path(target, f->path, sizeof(f->path));
	return 0;
}

static bool gone(int code)
{
	return code == ENOENT || code == ENODEV || code == ENOTDIR;
}

int pci_observe(const struct sysfs *s, const struct key *dev, struct facts *ret)
{
	struct facts f = { .numa_node = -1, .iommu_group = -1, .total_vfs = -1, .vf_index = -1 };
	_closedir_ DIR *dir = sysfs_dir(s, ROOT_SYS, PCI_DEVICES "/%s", dev->name);
	struct sysfs at = *s;
	const struct dirent *e;
	char vendor[32];
	int rc;

	if (!dir)
		return gone(errno) ? -ENODEV : -errno;
	at.fd[ROOT_SYS] = dirfd(dir);
	while ((e = readdir(dir)))
		read_entry(&at, e->d_name, &f);
	/* Out of descriptors or memory ourselves, we have seen a device without ids. */
	rc = f.vendor ? 0 : sysfs_read(&at, ROOT_SYS, vendor, sizeof(vendor), "vendor");
	if (rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM)
		return rc;
	if (f.iommu_group >= 0)
		f.vfio_node = sysfs_exists(s, ROOT_DEV, "vfio/%d", f.iommu_group);
	rc = read_path(s, dev, &f);
	for (const struct backend_ops *const *b = backends; *b; b++)
		if ((*b)->observe)
			(*b)->observe(&at, dev, &f);
	/* Gone while we looked: half of a device is none, and one without its place would be taken for another. */
	if (rc == -ENOENT || !sysfs_exists(s, ROOT_SYS, PCI_DEVICES "/%s", dev->name))
		return -ENODEV;
	*ret = f;
	return 0;
}

int pci_vfs(const struct sysfs *s, const struct key *pf,
	    void (*found)(void *ctx, int index, const struct key *vf), void *ctx)
{
	_closedir_ DIR *dir = sysfs_dir(s, ROOT_SYS, PCI_DEVICES "/%s", pf->name);
	struct sysfs at = *s;
	const struct dirent *e;

	if (!dir)
		return -ENODEV;
	at.fd[ROOT_SYS] = dirfd(dir);
	while ((e = readdir(dir))) {
		int index = virtfn_index(e->d_name);
		char name[KEY_NAME];
		struct key vf;

		if (index >= 0 && !sysfs_link(&at, ROOT_SYS, name, sizeof(name), "%s", e->d_name) &&
		    key_make(BUS_PCI, name, &vf))
			found(ctx, index, &vf);
	}
	return 0;
}
