// SPDX-License-Identifier: GPL-2.0-or-later
/* All devices, or some, in one table. */
#include <json-c/json.h>
#include <string.h>

#include "cli/access.h"
#include "cli/cli.h"
#include "cli/list.h"
#include "cli/out.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

/* Device by device: the objects of 4096 together take more time than all else. */
static void put_devices(const struct cli *cli, struct out *out)
{
	const char *between = "";

	out_printf(out, "{\"generation\":\"%s\",\"devices\":[", cli->inv.generation);
	for (size_t i = 0; i < cli->inv.n; i++) {
		struct json_object *o;

		if (!list_has(cli, &cli->inv.devices[i]))
			continue;
		o = device_json(&cli->inv.devices[i]);
		out_printf(out, "%s\n%s", between, json_line(o));
		between = ",";
		json_object_put(o);
	}
	out_printf(out, "\n]}\n");
}

/* The inventory, and of intents what is claimed and not here. */
static int read_both(struct cli *cli, struct err *err)
{
	_free_ char *inventory = NULL, *intents = NULL;
	struct out all = { 0 };
	int r = tree_read(cli, "inventory", &inventory, err)
			?: tree_read(cli, "intents", &intents, err);

	if (r)
		return r;
	out_printf(&all, "%s", inventory);
	for (char *rest = intents, *line; (line = line_next(&rest));)
		if (strstr(line, " device=none ") && strstr(line, " claim="))
			out_printf(&all, "%s\n", line);
	return all.failed ? fail_nomem(err) : tree_inventory_parse(all.data, &cli->inv, err);
}

int verb_list(struct cli *cli, struct err *err)
{
	struct out out = { 0 };
	int r = read_both(cli, err);

	if (!r && cli->opt[OPT_JSON])
		put_devices(cli, &out);
	else if (!r && list_table(cli, &cli->inv, &out))
		r = fail_nomem(err);
	return r ?: print_out(&out, err);
}
