/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is observed of a device. Part of its record: flat, and under the rules of device.h for what
 * changes here. */
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
#define HOLDER_NAME 96

/* How config space was read last; only the first three are facts. */
enum liveness {
	LIVENESS_GOOD,
	LIVENESS_ONES, /* all bits set: nobody answers */
	LIVENESS_LATE, /* the kernel waits */
	LIVENESS_UNKNOWN,
};

/* Who can have it as it is now. Backends say so; nobody else asks a driver's name. */
enum use {
	USE_NONE,  /* nobody; it keeps no guest from the rest of its IOMMU group either */
	/* the host: a driver of its own has it, so that no guest can have a member of the group */
	USE_HOST,
	USE_GUEST, /* whoever opens its nodes */
};

/* A text of any length, which lies beside the records: model_text(). All zeros: none. */
struct room {
	uint64_t sum; /* of what it says */
	uint32_t at, len;
};

/* Observed in the kernel, by backends only. A fact is a row of facts.def. */
struct facts {
#define FACT(type, name, none, bit) type name;
#define FACT_TEXT(name, size, bit) char name[size];
#define FACT_KEY(name, bit) struct key name;
#define FACT_ROOM(name, bit) struct room name;
#include "pcidevfs/facts.def"
};

/* Of what nobody has looked at. */
extern const struct facts facts_none;
/* Into f, of a look at the machine: what others found out than those who look. */
void facts_keep(const struct facts *old, struct facts *f);

/* From pci.ids. */
struct names {
	char description[176];
	/* Computed resource name, never empty for a claimable device. */
	char resource[RESOURCE_NAME];
};

#endif
