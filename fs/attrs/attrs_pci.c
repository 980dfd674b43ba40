// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of a device: what it is, according to the kernel and pci.ids. */
#include "fs/internal.h"
#include "rows.h"

/* As the kernel says: ids of USB have none. */
static const char *hex(const struct subject *s)
{
	return s->dev->caps & CAP_USB ? "" : "0x";
}

static void id_show(const struct subject *s, struct out *o)
{
	const uint16_t *id = (const uint16_t *)((const char *)s->dev + s->row->at);

	out_printf(o, "%s%04x\n", hex(s), *id);
}

static void class_show(const struct subject *s, struct out *o)
{
	out_printf(o, "%s%06x\n", hex(s), s->dev->facts.class_code);
}

static void kind_show(const struct subject *s, struct out *o)
{
	out_line(o, kind_name(s->dev->kind));
}

/* clang-format off: a row as it is read */
static const struct attr rows[] = {
	{ RO_OF("address", 2, key.name), .bits = CH_IDENTITY, .flags = ATTR_CONST,
	  .help = "its address on its bus, as the directory is called" },
	{ KEY_RO("vendor", 3, id_show), AT(facts.vendor), .bits = CH_IDS, .caps = CAP_IDS, .flags = ATTR_CONST,
	  .help = "vendor id, as in sysfs" },
	{ KEY_RO("device", 4, id_show), AT(facts.device), .bits = CH_IDS, .caps = CAP_IDS, .flags = ATTR_CONST,
	  .help = "device id, as in sysfs" },
	{ RO("subsystem_vendor", 37, id_show), AT(facts.subvendor), .bits = CH_IDS, .caps = CAP_PCI, .flags = ATTR_CONST,
	  .since = "0.2", .help = "vendor id of the board, as in sysfs" },
	{ RO("subsystem_device", 38, id_show), AT(facts.subdevice), .bits = CH_IDS, .caps = CAP_PCI, .flags = ATTR_CONST,
	  .since = "0.2", .help = "id of the board, as in sysfs: it tells an A2 from an A16, whose device id is the same" },
	{ KEY_RO("class", 5, class_show), .bits = CH_IDS, .caps = CAP_IDS, .flags = ATTR_CONST,
	  .help = "class code, as in sysfs; of a USB device with class 0 that of its first interface" },
	{ KEY_RO_OF("numa_node", 6, facts.numa_node), .bits = CH_FACT(numa_node), .flags = ATTR_CONST,
	  .help = "NUMA node, -1 when the kernel knows none" },
	{ KEY_RO_OF("driver", 7, facts.driver), .bits = CH_FACT(driver),
	  .help = "the driver that is bound, or none; of a USB device that of the first interface with one" },
	{ KEY_RO("kind", 8, kind_show), .bits = CH_KIND, .flags = ATTR_CONST,
	  .help = "pci, sriov-gpu, sriov-nic, sriov, vf, vgpu (a VF of a GPU, which can be a vGPU), "
		  "mdev, usb, hub (of USB) or bridge; fixed by what the device is" },
	{ KEY_RO_OF("description", 9, names.description), .bits = CH_DESCRIPTION, .flags = ATTR_CONST,
	  .help = "class: vendor product, from pci.ids or usb.ids; a USB device that is in none is called by its own "
		  "words, other than printable characters read ?" },
	{ KEY_RO_OF("netdev", 34, facts.netdev), .bits = CH_FACT(netdev),
	  .help = "its network interface, such as enp2s0f1, or none. If it has 3, the first and how "
		  "many more: enp2s0 +2. It follows a rename" },
	{ KEY_RO_OF("disk", 35, facts.disk), .bits = CH_FACT(disk),
	  .help = "its disk, such as nvme0n1, likewise. A USB controller is called by what is on its ports" },
	{ KEY_RO_OF("drm", 36, facts.drm), .bits = CH_FACT(drm),
	  .help = "its graphics card below /dev/dri, such as card0, likewise" },
	{ KEY_RO_OF("slot", 39, facts.slot), .bits = CH_FACT(slot), .caps = CAP_PCI, .flags = ATTR_CONST,
	  .since = "0.2", .help = "the physical slot that its address is in, as the kernel names it in "
		  "bus/pci/slots of sysfs, or none. All functions of a card have the same" },
};
/* clang-format on */

const struct attr_table attrs_pci = { rows, ARRAY_SIZE(rows) };
