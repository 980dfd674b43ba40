// SPDX-License-Identifier: GPL-2.0-or-later
/* Where a function sits, from its resolved path in sysfs. */
#include <stdio.h>
#include <string.h>

#include "pcidevfs/key.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/util.h"

/* Appends one part of a device path, without bus numbers. False if there is no room. */
static bool add_hop(char *ret, size_t size, const char *part)
{
	size_t at = strlen(ret), n = strlen(part);
	struct key key;
	int len;

	if (!strncmp(part, "pci", 3))
		/* A second root, as VMD has, has the place of its bridge: its domain is just a
		 * counter. */
		len = at ? 0 : snprintf(ret, size, "%s", part + 3);
	else if (key_make(BUS_PCI, part, &key) && at && n >= 4)
		len = snprintf(ret + at, size - at, "/%s", part + n - 4); /* dd.f */
	else
		len = 0;
	return len >= 0 && at + (size_t)len < size;
}

void pci_path(const char *target, char *ret, size_t size)
{
	char copy[1024], *save = NULL;

	ret[0] = '\0';
	if (!str_copy(copy, sizeof(copy), target))
		return;
	for (char *part = strtok_r(copy, "/", &save); part; part = strtok_r(NULL, "/", &save))
		if (!add_hop(ret, size, part)) {
			ret[0] = '\0';
			return;
		}
}

void pci_behind(const char *target, struct key *ret)
{
	char copy[1024], *save = NULL;
	struct key last = { 0 };

	*ret = (struct key){ 0 };
	if (!str_copy(copy, sizeof(copy), target))
		return;
	for (char *part = strtok_r(copy, "/", &save); part; part = strtok_r(NULL, "/", &save)) {
		if (last.bus && !strncmp(part, "pci", 3) && strchr(part, ':'))
			*ret = last;
		if (!key_make(BUS_PCI, part, &last))
			last.bus = BUS_NONE;
	}
}
