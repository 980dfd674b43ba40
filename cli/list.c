// SPDX-License-Identifier: GPL-2.0-or-later
#include "list.h"

#include <string.h>
#include <strings.h>

#include "cli.h"
#include "pcidevfs/table.h"
#include "pcidevfs/util.h"

enum { COLUMNS = 9 };

static const struct table_column columns[COLUMNS] = {
	{ "ADDRESS", 12, 0 }, { "NAME", 9, 4 },	  { "WHAT", 32, 2 },
	{ "KIND", 9, 8 },     { "DRIVER", 8, 6 }, { "GROUP", 5, 7 },
	{ "STATE", 9, 1 },    { "CLAIM", 8, 3 },  { "POD", 12, 5 },
};

/* For each the first that is not none; without any: the id. */
static const char *const keys[COLUMNS][3] = {
	{ NULL },
	{ "netdev", "disk", "drm" },
	{ "profile", "description", "reason" },
	{ "kind" },
	{ "driver" },
	{ "iommu_group" },
	{ "state" },
	{ "claim" },
	{ "allocated_to" },
};

bool list_has(const struct cli *cli, const struct tree_device *d)
{
	bool claimed = d && *device_says(d, "claim");
	const char *kind = cli->opt[OPT_KIND];

	return d && (!kind || !strcasecmp(device_says(d, "kind"), kind)) &&
	       (!cli->opt[OPT_CLAIMED] || claimed) &&
	       (!cli->opt[OPT_FREE] || (!claimed && !strcmp(device_says(d, "claimable"), "yes")));
}

/* "VGA compatible controller: NVIDIA Corporation GA107" without its class, which the name of most
 * products tells; that of a bridge does not. */
static const char *shorter(const struct tree_device *d, const char *key, const char *text)
{
	const char *name = strcmp(key, "description") != 0 ? NULL : strstr(text, ": ");

	return name && name[2] && strcmp(device_says(d, "kind"), "bridge") != 0 ? name + 2 : text;
}

static const char *cell(const struct tree_device *d, const char *const *from)
{
	const char *text = "";

	for (size_t i = 0; i < 3 && from[i] && !*text; i++)
		text = shorter(d, from[i], device_says(d, from[i]));
	return from[0] ? text : d->id;
}

int list_table(const struct cli *cli, const struct tree_inventory *inv, struct out *out)
{
	struct table t = { .columns = columns, .n_columns = COLUMNS };
	const char *cells[COLUMNS];
	int r = 0;

	for (size_t i = 0; i < inv->n && !r; i++) {
		if (!list_has(cli, &inv->devices[i]))
			continue;
		for (size_t c = 0; c < COLUMNS; c++)
			cells[c] = cell(&inv->devices[i], keys[c]);
		r = table_row(&t, cells);
	}
	if (!r)
		table_print(&t, cli->width, out);
	table_free(&t);
	return r;
}
