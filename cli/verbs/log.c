// SPDX-License-Identifier: GPL-2.0-or-later
/* The last writes, and their verdicts. */
#include <json-c/json.h>

#include "cli/cli.h"
#include "cli/out.h"
#include "cli/access.h"
#include "pcidevfs/util.h"

static void put_write(struct out *out, struct json_object *o)
{
	out_printf(out, "%.19sZ %s %s=%s by %s uid %s: %s%s%s\n", json_says(o, "time"),
		   json_says(o, "id"), json_says(o, "file"),
		   *json_says(o, "value") ? json_says(o, "value") : "none", json_says(o, "comm"),
		   json_says(o, "uid"), json_says(o, "result"), *json_says(o, "text") ? " " : "",
		   json_says(o, "text"));
}

int verb_log(struct cli *cli, struct err *err)
{
	struct json_object *o = json_object_new_object(), *list, *line;
	struct out all = { 0 }, out = { 0 };
	char path[160] = "log";
	int r = cli->argc ? targets_read(cli, cli->argv, cli->argc, err) : 0;

	for (size_t i = 0; i < (cli->argc ? cli->targets.n : 1) && !r; i++) {
		_free_ char *text = NULL;

		if (cli->argc)
			snprintf(path, sizeof(path), "%s/log", cli->targets.v[i].dir);
		r = tree_read(cli, path, &text, err);
		if (!r)
			out_printf(&all, "%s", text);
	}
	list = lines_json(out_text(&all));
	for (size_t i = 0; (line = json_object_array_get_idx(list, i)); i++)
		put_write(&out, line);
	json_object_object_add(o, "log", list);
	out_free(&all);
	return print_either(cli, r, &out, o, err);
}
