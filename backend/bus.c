// SPDX-License-Identifier: GPL-2.0-or-later
#include "bus.h"

#include <errno.h>

#include "internal.h"
#include "pcidevfs/err.h"
#include "backend/mdev/mdev.h"
#include "backend/usb/usb.h"

const struct bus_ops *const buses[BUS_COUNT] = {
	[BUS_PCI] = &pci_bus,
	[BUS_MDEV] = &mdev_bus,
	[BUS_USB] = &usb_bus,
};

int backend_early(const struct roots *roots, const char *state_dir, const char *id, struct err *err)
{
	char hint[KEY_HINT];
	struct key key;

	if (!key_parse(id, &key))
		return fail(err, EINVAL, "--early: \"%.64s\" is not a device; %s", id,
			    key_hint(id, hint));
	if (!buses[key.bus] || !buses[key.bus]->early)
		return 0;
	return buses[key.bus]->early(roots, state_dir, key.name, err);
}

bool bus_shows(const struct backend *b, const struct key *dev)
{
	const struct bus_ops *bus = b->buses[dev->bus];

	return bus && sysfs_exists(&b->sys, ROOT_SYS, "%s/%s", bus->devices, dev->name);
}
