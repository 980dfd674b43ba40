// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/pci.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/bus.h"
#include "backend/called.h"
#include "backend/gpu/world.h"
#include "backend/internal.h"
#include "backend/known.h"
#include "backend/ops.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/names.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/uevent.h"
#include "pcidevfs/util.h"
#include "reserved.h"
#include "variant.h"

/* An index above 16 bits is invalid: SR-IOV counts VFs in 16 bits. */
static int virtfn_index(const char *name)
{
	uint64_t n;

	if (strncmp(name, "virtfn", 6) || parse_u64(name + 6, UINT16_MAX, &n))
		return -1;
	return (int)n;
}

/* A function that is being observed. */
struct pci_look {
	struct sysfs at; /* with a sysfs root at the device's directory */
	struct facts *f;
	char cdev[16]; /* "vfio0" below dev/vfio/devices if the kernel has cdevs; "" none */
	struct called called;
	bool mdev_types;  /* mediated devices can be made of it */
	bool has_ids;	  /* known from an earlier look */
	unsigned int ids; /* how many optional ones were read in this one */
	int rc; /* a failure of our own, for example no descriptor: the facts are incomplete */
};

/* held: the text found in place of a valid value. */
static void note_garbled(struct pci_look *l, const char *name, const char *verb, char *held)
{
	const int most = 24;

	if (l->f->garbled[0])
		return;
	pci_quote(held);
	snprintf(l->f->garbled, sizeof(l->f->garbled), "%s %s \"%.*s\"%s", name, verb, most, held,
		 strlen(held) > (size_t)most ? " ..." : "");
}

/* A vanished file is not an error: the function or its driver may be going. */
static void note_unread(struct pci_look *l, const char *name, int rc)
{
	if (rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM)
		l->rc = rc;
	else if (rc != -ENOENT && rc != -ENODEV && !l->f->garbled[0])
		snprintf(l->f->garbled, sizeof(l->f->garbled), "%s cannot be read (%s)", name,
			 err_name(-rc));
}

/* Returns -errno and leaves *ret alone if the file is absent or its value invalid. */
static int number(struct pci_look *l, const char *name, int64_t min, int64_t max, int64_t *ret)
{
	char text[64];
	int rc = sysfs_read(&l->at, ROOT_SYS, text, sizeof(text), "%s", name);

	if (rc < 0 && rc != -EFBIG) {
		note_unread(l, name, rc);
		return rc;
	}
	if (rc >= 0)
		rc = parse_i64(text, min, max, ret);
	if (rc)
		note_garbled(l, name, "holds", text);
	return rc;
}

static bool flag(struct pci_look *l, const char *name)
{
	int64_t n = 0;

	number(l, name, 0, 1, &n);
	return n;
}

static int link_name(struct pci_look *l, const char *name, char *buf, size_t size)
{
	int rc = sysfs_link(&l->at, ROOT_SYS, buf, size, "%s", name);

	if (rc)
		note_unread(l, name, rc);
	return rc;
}

/* Reads an attribute that every function has on every kernel. */
static uint32_t always(struct pci_look *l, const char *name, int64_t max)
{
	int64_t n = 0;

	if (number(l, name, 0, max, &n) == -ENOENT && !l->f->garbled[0])
		snprintf(l->f->garbled, sizeof(l->f->garbled), "there is no %s", name);
	return (uint32_t)n;
}

static void read_ids(struct pci_look *l, struct known *known, uint64_t inode)
{
	struct facts *f = l->f;
	struct pci_ids ids;

	l->has_ids = known && known_ids(known, inode, &ids);
	if (l->has_ids) {
		f->vendor = ids.vendor;
		f->device = ids.device;
		f->subvendor = ids.subvendor;
		f->subdevice = ids.subdevice;
		f->revision = ids.revision;
	} else {
		f->vendor = (uint16_t)always(l, "vendor", UINT16_MAX);
		f->device = (uint16_t)always(l, "device", UINT16_MAX);
	}
	f->class_code = always(l, "class", 0xffffff);
}

/* A function's directory is there before its files are. */
static void keep_ids(const struct pci_look *l, struct known *known, uint64_t inode)
{
	const struct facts *f = l->f;
	const struct pci_ids ids = { f->vendor, f->device, f->subvendor, f->subdevice,
				     f->revision };

	if (known && !l->has_ids && l->ids == 3 && !f->garbled[0])
		known_add_ids(known, inode, &ids);
}

static uint16_t id(struct pci_look *l, const char *name, int64_t max)
{
	int64_t n = 0;

	l->ids += !number(l, name, 0, max, &n);
	return (uint16_t)n;
}

static void read_subvendor(struct pci_look *l)
{
	if (!l->has_ids)
		l->f->subvendor = id(l, "subsystem_vendor", UINT16_MAX);
}

static void read_subdevice(struct pci_look *l)
{
	if (!l->has_ids)
		l->f->subdevice = id(l, "subsystem_device", UINT16_MAX);
}

static void read_revision(struct pci_look *l)
{
	if (!l->has_ids)
		l->f->revision = (uint8_t)id(l, "revision", UINT8_MAX);
}

static void read_numa(struct pci_look *l)
{
	int64_t n = -1;

	number(l, "numa_node", -1, INT32_MAX, &n);
	l->f->numa_node = (int32_t)n;
}

static void read_boot_vga(struct pci_look *l)
{
	l->f->boot_vga = flag(l, "boot_vga");
}

/* A PF that does not tell how many VFs it can have is still a PF. */
static void read_total_vfs(struct pci_look *l)
{
	int64_t n = 0;

	number(l, "sriov_totalvfs", 0, UINT16_MAX, &n);
	l->f->total_vfs = (int32_t)n;
}

static void read_autoprobe(struct pci_look *l)
{
	l->f->autoprobe = flag(l, "sriov_drivers_autoprobe");
}

static void read_reset(struct pci_look *l)
{
	l->f->has_reset = true;
}

static void read_types(struct pci_look *l)
{
	l->mdev_types = true;
}

static void read_driver(struct pci_look *l)
{
	if (link_name(l, "driver", l->f->driver, sizeof(l->f->driver)))
		l->f->driver[0] = '\0';
}

static void read_physfn(struct pci_look *l)
{
	char name[NAME_MAX + 1];

	if (link_name(l, "physfn", name, sizeof(name)))
		return;
	if (!key_make(BUS_PCI, name, &l->f->parent))
		note_garbled(l, "physfn", "leads to", name);
}

static void read_group(struct pci_look *l)
{
	char name[NAME_MAX + 1];
	uint64_t n;

	if (link_name(l, "iommu_group", name, sizeof(name)))
		return;
	if (parse_u64(name, INT32_MAX, &n)) {
		note_garbled(l, "iommu_group", "leads to", name);
		return;
	}
	l->f->iommu_group = (int32_t)n;
}

/* Kernels without cdevs have vfio-dev/ too, so the node decides. */
static void read_cdev(struct pci_look *l)
{
	bool may = sysfs_exists(&l->at, ROOT_DEV, "vfio/devices");
	_closedir_ DIR *dir = may ? sysfs_dir(&l->at, ROOT_SYS, "vfio-dev") : NULL;
	const struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (!strncmp(e->d_name, "vfio", 4) && strlen(e->d_name) < sizeof(l->cdev) &&
		    sysfs_exists(&l->at, ROOT_DEV, "vfio/devices/%s", e->d_name))
			STR_COPY(l->cdev, e->d_name);
}

static void read_nvme(struct pci_look *l)
{
	host_serial_nvme(&l->at, l->f->host_serial);
}

static void read_net(struct pci_look *l)
{
	host_serial_net(&l->at, l->f->host_serial);
}

/* Optional attributes are read only if the directory lists them: a failing open costs as much as
 * one that succeeds, and most functions have few of these. */
static const struct {
	const char *name;
	void (*read)(struct pci_look *l);
} entries[] = {
	{ "subsystem_vendor", read_subvendor },
	{ "subsystem_device", read_subdevice },
	{ "revision", read_revision },
	{ "numa_node", read_numa },
	{ "boot_vga", read_boot_vga },
	{ "sriov_totalvfs", read_total_vfs },
	{ "sriov_drivers_autoprobe", read_autoprobe },
	{ "reset", read_reset },
	{ "driver", read_driver },
	{ "physfn", read_physfn },
	{ "iommu_group", read_group },
	{ "vfio-dev", read_cdev },
	{ "nvme", read_nvme },
	{ "net", read_net },
	{ MDEV_TYPES, read_types },
};

/* Keeps the smallest one, so the result does not depend on the order of reading. */
static void note_mdev(struct facts *f, const char *uuid)
{
	if (!f->mdevs++ || strcmp(uuid, f->mdev) < 0)
		STR_COPY(f->mdev, uuid);
}

static void read_entry(struct pci_look *l, const char *name)
{
	struct key mdev;

	/* If the PF was pulled out, the link may outlive its VF. */
	if (virtfn_index(name) >= 0 && sysfs_exists(&l->at, ROOT_SYS, "%s", name))
		l->f->num_vfs++;
	if (key_make(BUS_MDEV, name, &mdev))
		note_mdev(l->f, mdev.name);
	for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
		if (!strcmp(name, entries[i].name))
			entries[i].read(l);
	l->rc = called_look(&l->called, &l->at, name) ?: l->rc;
}

/* A VF gets the path of its PF, which does not move. -ENOENT: it is gone. */
static int read_path(const struct sysfs *s, const struct key *dev, struct facts *f)
{
	char target[PATH_MAX];
	int rc = sysfs_target(s, target, PCI_DEVICES "/%s",
			      f->parent.bus ? f->parent.name : dev->name);

	if (rc)
		return rc;
	pci_path(target, f->path, sizeof(f->path));
	pci_behind(target, &f->behind);
	return 0;
}

void pci_nodes(int32_t group, const char *cdev, bool iommufd, char ret[static NODES_TEXT])
{
	int n = 0;

	ret[0] = '\0';
	if (group >= 0)
		n = snprintf(ret, NODES_TEXT, "/dev/vfio/vfio /dev/vfio/%d", group);
	if (cdev[0])
		snprintf(ret + n, NODES_TEXT - (size_t)n, "%s/dev/vfio/devices/%s%s", n ? " " : "",
			 cdev, iommufd ? " /dev/iommu" : "");
}

/* The group's node exists whichever member made it. */
static void find_nodes(struct pci_look *l)
{
	struct facts *f = l->f;
	bool group = f->iommu_group >= 0 &&
		     sysfs_exists(&l->at, ROOT_DEV, "vfio/%d", f->iommu_group);

	pci_nodes(group ? f->iommu_group : -1, l->cdev,
		  l->cdev[0] && sysfs_exists(&l->at, ROOT_DEV, "iommu"), f->nodes);
}

/* Bridges keep their driver and pci-stub does nothing: the kernel still allows a guest to have the
 * group (spec/kernel.md 7). */
enum use pci_use(const struct facts *f)
{
	if (driver_is_vfio(f->driver))
		return USE_GUEST;
	return f->driver[0] && strcmp(f->driver, "pci-stub") && !device_is_bridge(f) ? USE_HOST
										     : USE_NONE;
}

bool pci_is_down(const struct sysfs *s, const struct key *dev, const char *netdev)
{
	int64_t flags;

	return netdev[0] &&
	       !sysfs_number(s, ROOT_SYS, 0, UINT32_MAX, &flags, PCI_DEVICES "/%s/net/%s/flags",
			     dev->name, netdev) &&
	       !(flags & IFF_UP);
}

static bool gone(int code)
{
	return code == ENOENT || code == ENODEV || code == ENOTDIR;
}

int pci_observe(const struct sysfs *s, struct known *known, const struct key *dev,
		struct facts *ret)
{
	struct facts f = facts_none;
	_closedir_ DIR *dir = sysfs_dir(s, ROOT_SYS, PCI_DEVICES "/%s", dev->name);
	struct pci_look look = { .at = *s, .f = &f };
	const struct dirent *e;
	struct stat st;
	int rc;

	if (!dir)
		return gone(errno) ? -ENODEV : -errno;
	look.at.fd[ROOT_SYS] = dirfd(dir);
	if (fstat(dirfd(dir), &st))
		return -ENODEV;
	f.inode = st.st_ino;
	read_ids(&look, known, st.st_ino);
	while ((e = readdir(dir)))
		read_entry(&look, e->d_name);
	if (look.rc)
		return look.rc;
	f.use = pci_use(&f);
	if (f.use != USE_HOST || f.parent.bus) /* a VF is known by its PF */
		f.host_serial[0] = '\0';
	called_tell(&look.called, &f);
	f.netdev_down = f.total_vfs > 0 && pci_is_down(s, dev, look.called.netdev.first);
	find_nodes(&look);
	if (f.boot_vga && framebuffer_find(s, dev->name, f.framebuffer))
		return -ENOMEM;
	rc = read_path(s, dev, &f);
	for (const struct backend_ops *const *b = backends; *b; b++)
		if ((*b)->observe)
			(*b)->observe(&look.at, dev, &f);
	/* A VF with a mediated device is a vGPU itself. */
	if (look.mdev_types && !f.parent.bus)
		f.caps |= CAP_CREATE | CAP_TYPES;
	/* It vanished meanwhile. Half a device is not a device, and without its path it could be
	 * taken for another. */
	if (rc == -ENOENT || !sysfs_exists(s, ROOT_SYS, PCI_DEVICES "/%s", dev->name))
		return -ENODEV;
	keep_ids(&look, known, st.st_ino);
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

struct vf_search {
	const char *vf;
	int index;
};

static void find_index(void *ctx, int index, const struct key *vf)
{
	struct vf_search *search = ctx;

	if (!strcmp(vf->name, search->vf))
		search->index = index;
}

int pci_vf_index(const struct sysfs *s, const struct key *pf, const char *vf)
{
	struct vf_search search = { vf, -ENODEV };

	pci_vfs(s, pf, find_index, &search);
	return search.index;
}

static int observe_pci(const struct backend *b, const struct key *dev, struct facts *ret)
{
	int rc = pci_observe(&b->sys, b->known, dev, ret);

	if (rc)
		return rc;
	variant_choose(b->variants, ret, ret->vfio_driver);
	ret->vfio_ready = sysfs_exists(&b->sys, ROOT_SYS, "bus/pci/drivers/%s", ret->vfio_driver);
	return 0;
}

static bool heard(struct model *m, const struct uevent *ev, struct key *ret)
{
	return uevent_function(ev, ret);
}

static const struct ask_row *const watch[] = { &ask_serial, &ask_reserved, &ask_liveness, NULL };

const struct bus_ops pci_bus = {
	.devices = PCI_DEVICES,
	.subsystem = "pci",
	.observe = observe_pci,
	.heard = heard,
	/* Where Harvester looks, so that a machine has one set of names. */
	.ids = { "/usr/share/hwdata/pci.ids", "/usr/share/misc/pci.ids" },
	.name = names_fill,
	.early = pci_early,
	.watch = watch,
};
