/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PCIDEVFS_CHANGE_H
#define PCIDEVFS_CHANGE_H

#include <stdint.h>

/* What a change touched: it wakes attribute rows and events. An event names all rows that have one
 * of its bits, so rows share a bit only if their texts change together. New bits go before
 * CH_END. */
__extension__ typedef unsigned __int128 change_bits;

#define CH_BIT(n) ((change_bits)1 << (n))
#define CH_IDENTITY CH_BIT(0) /* another device; no field of a device that stays has this bit */
#define CH_ASKED CH_BIT(1) /* what is stored of VFs, profile and MIG layout */
#define CH_OVERRIDE CH_BIT(2) /* resource_override */
#define CH_FORMER CH_BIT(3) /* device_former_driver() */
#define CH_NUMVFS CH_BIT(4)
#define CH_PROFILES CH_BIT(5)
#define CH_CRITICAL CH_BIT(6)
#define CH_HOLDERS CH_BIT(7)
#define CH_NAME CH_BIT(8) /* device_resource() */
#define CH_CLAIM CH_BIT(9) /* device_claim() */
#define CH_STATE CH_BIT(10)
#define CH_ERROR CH_BIT(11) /* last_error */
#define CH_PLAN CH_BIT(12)
/* Internal: wakes no poll and makes no event; restore looks again. */
#define CH_INTERNAL CH_BIT(13)
#define CH_ALLOCATED CH_BIT(14)
#define CH_GIVEN CH_BIT(15)    /* allocated_nodes */
#define CH_GIVEN_AS CH_BIT(16) /* allocated_as */
/* vendor, device and class: read together; they change when a card stops or begins to answer */
#define CH_IDS CH_BIT(17)
#define CH_KIND CH_BIT(18)
#define CH_DESCRIPTION CH_BIT(19)
#define CH_POOLED CH_BIT(20)
#define CH_UNSATISFIED CH_BIT(21) /* why intents are not applied */
#define CH_PARENT CH_BIT(22)
#define CH_REASON CH_BIT(23)
/* No file of the device shows these, but other files do (`intents`, those of a resource), or what
 * follows from them has its own bit. CH_BEHIND: state and reason follow from it. */
#define CH_ASIDE CH_BIT(24)
#define CH_BEHIND CH_BIT(25)
/* Likewise; the rights of the device's files follow from it: the kernel asks for attributes
 * again. */
#define CH_RIGHTS CH_BIT(26)
#define CH_MDEV CH_BIT(27)
#define CH_CLAIMABLE CH_BIT(28)
/* what facts.vfconf has of each setting */
#define CH_MAC CH_BIT(29)
#define CH_VLAN CH_BIT(30)
#define CH_TRUST CH_BIT(31)
#define CH_SPOOFCHK CH_BIT(32)
#define CH_OFFERED_AS CH_BIT(33)
#define CH_MIG CH_BIT(34) /* what the driver tells of MIG */
#define CH_FIXED 35 /* of them */

/* ... and one for each FACT_SHOWN of facts.def. */
enum {
#define FACT_SHOWN(type, name, none) SHOWN_##name,
#define FACT_SHOWN_TEXT(name, size) SHOWN_##name,
#include "pcidevfs/facts.def"
	SHOWN_END
};
#define CH_FACT(name) CH_BIT(CH_FIXED + SHOWN_##name)
#define CH_END CH_BIT(CH_FIXED + SHOWN_END) /* above all of them */
/* Fields that people write to look at a device: nothing follows from them. */
#define CH_WRITTEN (CH_ERROR | CH_PLAN)
#define CH_ALL (~(change_bits)0)

#endif
