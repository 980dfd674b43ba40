// SPDX-License-Identifier: GPL-2.0-or-later
#include "bus.h"

#include <string.h>
#include <pcidevfs/util.h>

#include "devices.h"

/* VMD's domains have more than four digits (tests/k8s/ground/kubevirt, case 15). */
static const char *pci_withheld(const struct dev *d)
{
	return strcspn(d->id, ":") > 4 ? "KubeVirt takes no PCI domain above ffff" : NULL;
}

static const char *usb_withheld(const struct dev *d)
{
	(void)d;
	return "KubeVirt takes USB devices by numbers that the tree does not tell";
}

/* PCI last: its ids begin with no word. */
static const struct bus buses[] = {
	{ "mdev/", "mdevs", "MDEV_PCI", NULL },
	{ "usb/", "usb", "USB", usb_withheld },
	{ "", "devices", "PCI", pci_withheld },
};

const struct bus *bus_at(size_t i)
{
	return i < ARRAY_SIZE(buses) ? &buses[i] : NULL;
}

const struct bus *bus_of(const struct dev *d)
{
	const struct bus *b = buses;

	while (strncmp(d->id, b->prefix, strlen(b->prefix)))
		b++;
	return b;
}
