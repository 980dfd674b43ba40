// SPDX-License-Identifier: GPL-2.0-or-later
/* What a layout would change. */
#include <json-c/json.h>

#include "cli/cli.h"
#include "cli/layout.h"
#include "cli/out.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

int verb_diff(struct cli *cli, struct err *err)
{
	struct json_object *all = json_object_new_object(), *list = json_object_new_array();
	struct out out = { 0 };
	struct layout layout;
	int r = layout_of(cli, &layout, err);
	bool differs = layout.n > 0;
	char file[160];

	for (size_t i = 0; i < layout.n && !r; i++) {
		struct json_object *o = json_object_new_object();
		const struct layout_line *l = &layout.v[i];
		const char *now = l->takes ? NULL : l->was, *value = l->takes ? "admin" : l->value;

		snprintf(file, sizeof(file), "%s/%s", l->id, l->takes ? "claim" : l->file);
		if (!l->hidden)
			out_printf(&out, "%s: %s -> %s\n", file, now ?: "none", value);
		json_text(o, "file", file);
		json_text(o, "now", now);
		json_text(o, "value", value);
		json_number(o, "line", (int)l->line);
		json_object_array_add(list, o);
	}
	json_object_object_add(all, "differs", json_object_new_boolean(differs));
	json_object_object_add(all, "changes", list);
	layout_free(&layout);
	return print_either(cli, r, &out, all, err) ?: differs;
}
