// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of devices, filled by the mirror (client/mirror.h). */
#include <string.h>
#include <stdio.h>

#include "plugin.h"
#include "plugin/kubelet/bus.h"
#include "plugin/kubelet/devices.h"

static bool table_holders(const void *table, size_t i, char *path, size_t size)
{
	const struct devices *t = table;

	if (i >= t->n)
		return false;
	snprintf(path, size, "%s/%s/holders", bus_of(t->v[i])->directory,
		 t->v[i]->id + strlen(bus_of(t->v[i])->prefix));
	return true;
}

static bool table_overtaken(const void *table, const char *lines, uint64_t since)
{
	return devices_overtaken(table, lines, since);
}

const struct mirror_table plugin_table = {
	.name = "pcidevfs-plugin",
	.size = sizeof(struct devices),
	.begin = devices_begin,
	.take = devices_take,
	.drop = devices_drop,
	.settle = devices_settle,
	.holders = table_holders,
	.overtaken = table_overtaken,
	.clear = devices_free,
};
