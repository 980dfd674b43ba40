// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/facts.h"

#include <string.h>

#include "pcidevfs/util.h"

const struct facts facts_none = {
#define FACT(type, name, none, bit) .name = (none),
#include "pcidevfs/facts.def"
};

static bool has_ids(const struct facts *f)
{
	return !f->garbled[0] && f->vendor && f->vendor != UINT16_MAX;
}

static bool differ(uint64_t a, uint64_t b)
{
	return a && b && a != b;
}

bool facts_of_other(const struct facts *was, const struct facts *is)
{
	if (differ(was->inode, is->inode) || differ(was->devnum, is->devnum) ||
	    differ(was->serial, is->serial))
		return true;
	if (!has_ids(was) || !has_ids(is))
		return false;
	return was->vendor != is->vendor || was->device != is->device ||
	       differ(was->subvendor, is->subvendor) || differ(was->subdevice, is->subdevice);
}

void facts_keep(const struct facts *old, struct facts *f)
{
	if (!f->host_serial[0])
		STR_COPY(f->host_serial, old->host_serial);
#define FACT_ROOM(name, bit) f->name = old->name;
#define FACT_ASIDE(type, name, none, bit) f->name = old->name;
#define FACT_TEXT_ASIDE(name, size, bit) STR_COPY(f->name, old->name);
#include "pcidevfs/facts.def"
	/* That was told of the group. */
	if (f->iommu_group != old->iommu_group)
		f->reserved = RESERVED_UNKNOWN;
}
