/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is observed of a device. Part of its record: flat, and under the rules of device.h for what changes
 * here. A field that nobody knows yet is 0 or "", where nothing else is said.
 */
#ifndef PCIDEVFS_FACTS_H
#define PCIDEVFS_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "pcidevfs/key.h"

#define DRIVER_NAME 48
#define RESOURCE_NAME 112
#define CRITICAL_TEXT 176
#define GARBLED_TEXT 64
#define NODES_TEXT 88

/* How config space was read last; only the first three are facts. */
enum pulse {
	PULSE_GOOD,
	PULSE_ONES, /* all bits set: nobody answers */
	PULSE_LATE, /* the kernel waits */
	PULSE_UNKNOWN,
};

/* Who can have it as it is now. Backends say so; nobody else asks a driver's name. */
enum use {
	USE_NONE,  /* nobody; it keeps no guest from the rest of its IOMMU group either */
	USE_HOST,  /* the host: a driver of its own has it, so that no guest can have a member of the group */
	USE_GUEST, /* whoever opens its nodes */
};

/* Observed in the kernel, by backends only. */
struct facts {
	/* The last uevent before it was first seen: a removal up to that was another's. */
	uint64_t seen;
	uint16_t vendor, device, subvendor, subdevice;
	/* What of all this the kernel shows as nothing that could be meant, the first found: 'class holds
	 * "rubbish"'; "" when there is none. Its field reads as if the kernel had none. */
	char garbled[GARBLED_TEXT];
	uint32_t class_code; /* 24 bits, as in sysfs: 0x030200 */
	uint8_t revision;
	bool boot_vga;
	bool has_reset;
	int32_t numa_node;   /* -1: none, as the kernel says */
	int32_t iommu_group; /* -1: none */
	int32_t total_vfs;   /* -1: not a PF */
	int32_t num_vfs;     /* virtfn links counted: sriov_numvfs may take the device lock */
	int32_t index;	     /* of a VF: N of its PF's virtfnN; -1: it has none */
	bool autoprobe; /* a PF: sriov_drivers_autoprobe, which lets its VFs meet host drivers */
	bool has_way; /* it can be claimed: a row of backend/claim.c takes it */
	bool own_vfs;	/* a PF whose driver makes the VFs by means of its own */
	struct key parent; /* of a VF its PF, of a mediated device who made it; BUS_NONE: it has none */
	/* Where it sits, without bus numbers: "0000:00/1c.4/00.0"; "" unknown. A VF: its PF's. */
	char path[128];
	uint64_t serial; /* PCIe Device Serial Number; 0: none, or all ones. A VF: its PF's */
	bool serial_known; /* it was looked for: config space is read once, some time after the first scan */
	char driver[DRIVER_NAME];
	enum use use;
	/* What a guest opens to have it, a blank between each two, as far as it is there: "/dev/vfio/vfio /dev/vfio/7". */
	char nodes[NODES_TEXT];
	/* Would take it for passthrough: vfio-pci or the best variant. */
	char vfio_driver[DRIVER_NAME];
	bool vfio_ready;    /* and is registered */
	uint16_t mdevs;	    /* mediated devices that its driver has made of it */
	char mdev[40];	    /* UUID of one of them */
	char vgpu[16];	    /* type that its own driver offers it to VFIO as; "": none */
	enum pulse pulse;   /* looked at while it is claimed, and told once it lasts */
	/* Why the host needs it: "disk nvme0n1p2 is mounted on /"; "" when it does not. */
	char critical[CRITICAL_TEXT];
	/* Lines "pid=812 comm=\"nvidia-persiste\""; what does not fit is counted: "more=3". */
	char holders[240];
};

/* From pci.ids. */
struct names {
	char description[176];
	/* Computed resource name, never empty for a claimable device. */
	char resource[RESOURCE_NAME];
};

#endif
