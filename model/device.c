// SPDX-License-Identifier: GPL-2.0-or-later
/* What a device is: its kind, its capabilities, and short questions about it. Pure. */
#include "pcidevfs/device.h"

#include <string.h>

#include "pcidevfs/util.h"

static const char *const kind_names[KIND_COUNT] = {
	[KIND_PCI] = "pci",
	[KIND_SRIOV_GPU] = "sriov-gpu",
	[KIND_SRIOV_NIC] = "sriov-nic",
	[KIND_SRIOV] = "sriov",
	[KIND_VF] = "vf",
	[KIND_VGPU] = "vgpu",
	[KIND_BRIDGE] = "bridge",
	[KIND_MDEV] = "mdev",
	[KIND_USB] = "usb",
	[KIND_HUB] = "hub",
};

const char *kind_name(enum device_kind kind)
{
	return kind < KIND_COUNT ? kind_names[kind] : "pci";
}

/* PCI, CardBus and semi-transparent bridges have header type 1 or 2; the class tells the same
 * without reading config space, which would wake a sleeping device. */
bool device_is_bridge(const struct facts *facts)
{
	switch (facts->class_code >> 8) {
	case 0x0600:
	case 0x0604:
	case 0x0607:
	case 0x0609:
		return true;
	default:
		return false;
	}
}

bool device_is_vf(const struct device *dev)
{
	return dev->key.bus == BUS_PCI && dev->facts.parent.bus == BUS_PCI;
}

bool device_is_made(const struct device *dev)
{
	return device_is_vf(dev) || key_is_made(&dev->key);
}

bool device_is_known(const struct device *dev)
{
	return dev->facts.serial_known || dev->facts.serial;
}

static uint32_t caps_of(const struct device *dev)
{
	const struct facts *f = &dev->facts;
	uint32_t caps = 0;

	if (dev->key.bus != BUS_PCI)
		return f->caps | (f->has_way ? CAP_CLAIM | CAP_NAMED : 0) |
		       (f->iommu_group >= 0 ? CAP_GROUP : 0);
	caps |= CAP_PCI | CAP_IDS | f->caps;
	caps |= device_is_bridge(f) ? 0 : CAP_CLAIM;
	caps |= f->class_code >> 8 == 0x0604 ? 0 : CAP_NAMED;
	caps |= f->total_vfs >= 0 ? CAP_SRIOV : 0;
	caps |= f->total_vfs >= 0 && !f->own_vfs ? CAP_NUMVFS : 0;
	caps |= device_is_vf(dev) ? CAP_VF : 0;
	caps |= f->iommu_group >= 0 ? CAP_GROUP : 0;
	caps |= f->has_reset ? CAP_RESET : 0;
	caps |= f->class_code >> 16 == 0x03 ? CAP_GPU : 0;
	caps |= f->class_code >> 16 == 0x03 && f->total_vfs > 0 && !f->own_vfs ? CAP_ENABLE : 0;
	caps |= f->class_code >> 16 == 0x02 ? CAP_NIC : 0;
	return caps;
}

/* For devices other than PCI functions the bus decides. */
static const enum device_kind bus_kinds[BUS_COUNT] = {
	[BUS_MDEV] = KIND_MDEV, [BUS_USB] = KIND_USB
};

static enum device_kind kind_of(enum bus bus, uint32_t caps, uint32_t known)
{
	if (known && known < KIND_COUNT)
		return known;
	if (!(caps & CAP_PCI))
		return bus_kinds[bus];
	if (!(caps & CAP_CLAIM))
		return KIND_BRIDGE;
	if (caps & CAP_VF)
		return KIND_VF;
	if (!(caps & CAP_SRIOV))
		return KIND_PCI;
	if (caps & CAP_GPU)
		return KIND_SRIOV_GPU;
	return caps & CAP_NIC ? KIND_SRIOV_NIC : KIND_SRIOV;
}

void device_identify(struct device *dev)
{
	dev->caps = caps_of(dev);
	dev->kind = kind_of(dev->key.bus, dev->caps, dev->facts.kind);
}

bool device_has_node(const struct device *dev, const char *node)
{
	const char *p = dev->facts.nodes;
	size_t n = strlen(node);

	while (*p && (strcspn(p, " ") != n || strncmp(p, node, n))) {
		p += strcspn(p, " ");
		p += *p == ' ';
	}
	return *p;
}

bool device_is_coming(const struct device *dev)
{
	return dev->intended[0] && !dev->intent.claim[0];
}

void device_claim(const struct device *dev, char buf[static CLAIM_NAME])
{
	str_copy(buf, CLAIM_NAME, dev->intent.claim[0] ? dev->intent.claim : dev->intended);
}

void device_former_driver(const struct device *dev, char buf[static DRIVER_NAME])
{
	/* What the undo of a claim has left of it is nobody's. */
	bool claimed = dev->caps & CAP_CLAIM && dev->intent.claim[0];

	former_driver(claimed ? dev->intent.former : "", buf, DRIVER_NAME);
}

bool device_is_allocated(const struct device *dev)
{
	return dev->intent.claim[0] && dev->intent.allocated[0];
}

bool device_with_pod(const struct device *dev)
{
	return dev->intent.allocated[0] && strcmp(dev->intent.allocated, "pending");
}

bool device_shares_owner(const struct device *dev, const struct device *other)
{
	return dev->intent.uid == other->intent.uid && dev->intent.gid == other->intent.gid;
}

bool device_is_astray(const struct device *dev)
{
	return !dev->intent.claim[0] && dev->intent.former_known &&
	       (dev->facts.use == USE_GUEST || !dev->facts.driver[0]);
}
