/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PCIDEVFS_CHANGE_H
#define PCIDEVFS_CHANGE_H

/*
 * What a change touched. Attribute rows and events are woken by these, and an event names the rows that have one of
 * its bits: rows share a bit only if what they read changes together. A new one goes before CH_END.
 */
enum change_bit {
	CH_IDENTITY = 1 << 0, /* another device: of one that stays no field has it */
	CH_DRIVER = 1 << 1,
	CH_GROUP = 1 << 2,
	CH_NUMA = 1 << 3,
	CH_NUMVFS = 1 << 4,
	CH_NODES = 1 << 5, /* device_nodes() */
	CH_CRITICAL = 1 << 6,
	CH_HOLDERS = 1 << 7,
	CH_NAME = 1 << 8, /* device_resource() */
	CH_CLAIM = 1 << 9,
	CH_STATE = 1 << 10,
	CH_ERROR = 1 << 11, /* last_error */
	CH_PLAN = 1 << 12,
	/* Kept for ourselves: wakes no poll and makes no event. The kernel asks for attributes anew, and restore
	 * looks again. */
	CH_INTERNAL = 1 << 13,
	CH_ALLOCATED = 1 << 14,
	CH_GIVEN = 1 << 15,    /* allocated_nodes */
	CH_GIVEN_AS = 1 << 16, /* allocated_as */
	/* vendor, device, class: read together, of a card that answers or does not */
	CH_IDS = 1 << 17,
	CH_KIND = 1 << 18,
	CH_DESCRIPTION = 1 << 19,
	CH_POOLED = 1 << 20,
	CH_TOTALVFS = 1 << 21,
	CH_PHYSFN = 1 << 22,
	CH_REASON = 1 << 23,
	/* No file of the device reads so, but others may, as `intents` and those of a resource, or what follows from
	 * it has a bit of its own. CH_BEHIND: from these follow state and reason. */
	CH_ASIDE = 1 << 24,
	CH_BEHIND = 1 << 25,
	CH_END, /* above all of them */
};

#endif
