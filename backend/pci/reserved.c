// SPDX-License-Identifier: GPL-2.0-or-later
#include "reserved.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/internal.h"
#include "backend/look.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"

/* n: its length, which is cut where a type that is not known here is long. */
static bool is_line(const char *line, size_t n, char type[static 16])
{
	char copy[64];
	uint64_t start, end;

	snprintf(copy, sizeof(copy), "%.*s", (int)n, line);
	return sscanf(copy, "0x%16" SCNx64 " 0x%16" SCNx64 " %15s", &start, &end, type) == 3;
}

int reserved_parse(const char *text, bool *ret)
{
	char type[16];

	*ret = false;
	while (*text) {
		size_t n = strcspn(text, "\n");

		if (!is_line(text, n, type))
			return -EINVAL;
		*ret |= !strcmp(type, "direct");
		text += n + (text[n] == '\n');
	}
	return 0;
}

/* Kernels before 4.10, and containers with a sysfs of their own, have no such file. */
int reserved_tell(const struct sysfs *s, const struct key *dev, bool waking,
		  char ret[static TELL_MAX])
{
	_free_ char *text = malloc(SYSFS_PAGE);
	bool some = false;
	int rc;

	if (!text)
		return -ENOMEM;
	rc = sysfs_read(s, ROOT_SYS, text, SYSFS_PAGE,
			PCI_DEVICES "/%s/iommu_group/reserved_regions", dev->name);
	rc = rc < 0 ? rc : reserved_parse(text, &some);
	if (rc == -EINVAL)
		rc = RESERVED_ODD;
	else if (!rc || rc == -ENOENT || rc == -ENODEV)
		rc = some ? RESERVED_SOME : RESERVED_NONE;
	snprintf(ret, TELL_MAX, "%d", rc);
	return 0;
}

static enum ask_which which_reserved(struct backend *b, const struct device *dev)
{
	return dev->key.bus == BUS_PCI && dev->facts.iommu_group >= 0 &&
			       dev->facts.reserved <= RESERVED_ODD
		       ? ASK_IT
		       : ASK_NOT;
}

/* Who comes to a group may bring memory of its own: its answer, for which the group is read anew,
 * counts for the claim of all. */
static int apply_reserved(struct backend *b, const struct device *dev, const struct told *t)
{
	int told = t->line ? atoi(t->line->text) : t->rc ? t->rc : -EAGAIN;

	if (told < RESERVED_ODD || told >= RESERVED_COUNT)
		return told;
	model_edit(b->model, &dev->key, false)->facts.reserved = (enum reserved)told;
	return told == RESERVED_ODD ? -EINVAL : 0;
}

int reserved_of(struct backend *b, const struct touched *of, size_t n, struct err *err)
{
	int rc = ask_touched(b, &ask_reserved, of, n, NULL, NULL);
	int32_t group = -1;

	model_lock(b->model);
	for (size_t i = 0; i < n && rc && group < 0; i++) {
		const struct device *dev = model_find(b->model, &of[i].key);

		if (dev && dev->key.bus == BUS_PCI && dev->facts.reserved == RESERVED_UNKNOWN)
			group = dev->facts.iommu_group;
	}
	model_unlock(b->model);
	return group < 0 ? 0
			 : fail(err, -rc,
				"whether the firmware reserves memory for IOMMU group %d cannot be "
				"determined: its reserved_regions cannot be read: %s",
				(int)group, strerror(-rc));
}

const struct ask_row ask_reserved = { "reserved", "which memory is reserved", .deadline_ms = 300,
				      .batch = 256, .each_ms = 2000, .retries = true,
				      .thread = ASKER_CARDS, .which = which_reserved,
				      .apply = apply_reserved };
