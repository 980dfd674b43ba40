/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is observed of a device. Part of its record: flat; the rules of device.h apply here too. */
#ifndef PCIDEVFS_FACTS_H
#define PCIDEVFS_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "pcidevfs/key.h"
#include "pcidevfs/scheduler.h"
#include "pcidevfs/valid.h"
#include "pcidevfs/vfconf.h"

#define CRITICAL_TEXT 176
#define GARBLED_TEXT 64
#define HOST_SERIAL 44 /* an NVMe drive's has 20 characters */
#define NODES_TEXT 88
#define HOLDER_NAME 96
#define HOLDER_UNSURE "unsure " /* before one whose descriptors are not known */
#define INTERFACES_TEXT 192
#define VGPU_LACK 192
#define CARD_HEALTH 224
#define VGPU_PARAMS 96 /* as long as a step's value */
#define MIG_LAYOUT 160 /* "3g.40gb*2": seven names with their numbers */
#define OWN_WORD 48    /* what a device says of itself */
#define CALLED_NAME 44 /* 31 characters, as a disk may have, and " +9999" */
#define SLOT_NAME 32   /* a number, or a location code */
#define PROFILE_NAME 64 /* "NVIDIA RTXP6000-96C-24Q-VIRT" is a long one (spec/peers.md 1.10) */

/* The last result of reading config space; only the first three are facts. */
enum liveness {
	LIVENESS_GOOD,
	LIVENESS_ONES, /* all bits set: the device does not answer */
	LIVENESS_LATE, /* the kernel still waits */
	LIVENESS_UNKNOWN,
};

/* Memory that the firmware reserves for a member of an IOMMU group, as the kernel tells. */
enum reserved {
	RESERVED_UNKNOWN, /* not read yet */
	RESERVED_ODD,	  /* what was read makes no sense; it is read again */
	RESERVED_NONE,
	RESERVED_SOME, /* so the kernel gives the group to no guest */
	RESERVED_COUNT
};

/* Who can have the device as it is now. Backends set it; nobody else asks for a driver's name. */
enum use {
	USE_NONE,  /* nobody; it does not keep guests from the rest of its IOMMU group */
	/* the host: it has a driver of the host, so no guest can have a member of the group */
	USE_HOST,
	USE_GUEST, /* whoever opens its nodes */
	USE_COUNT
};

/* A text of any length, stored beside the records: model_text(). All zeros: none. */
struct room {
	uint64_t sum; /* hash of the text */
	uint32_t at, len;
};

/* Observed in the kernel, by backends only. Each fact is a row of facts.def. */
struct facts {
#define FACT(type, name, none, bit) type name;
#define FACT_TEXT(name, size, bit) char name[size];
#define FACT_KEY(name, bit) struct key name;
#define FACT_ROOM(name, bit) struct room name;
#include "pcidevfs/facts.def"
};

/* The facts of a device that nobody has looked at yet. */
extern const struct facts facts_none;
/* f is the result of a scan: copies into it the facts of `old` that a scan does not find out. */
void facts_keep(const struct facts *old, struct facts *f);
/* Two scans found these under one key: are they two devices? Another one may have taken the place
 * while no event was heard. An id or a serial number that one of them did not find says nothing. */
bool facts_of_other(const struct facts *was, const struct facts *is);

/* From pci.ids. */
struct names {
	char description[176];
	/* Computed resource name; not empty for a claimable device. */
	char resource[RESOURCE_NAME];
};

#endif
