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

int verb_list(struct cli *cli, struct err *err)
{
	struct out out = { 0 };
	int r = inventory_read_all(cli, err);

	if (!r && cli->opt[OPT_JSON])
		put_devices(cli, &out);
	else if (!r && list_table(cli, &cli->inv, &out))
		r = fail_nomem(err);
	return r ?: print_out(&out, err);
}
