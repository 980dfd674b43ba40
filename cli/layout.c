// SPDX-License-Identifier: GPL-2.0-or-later
#include "layout.h"

#include <string.h>

#include "access.h"
#include "cli.h"
#include "out.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

static char *view_text(void *ctx, const char *id, const char *file)
{
	struct target t = { 0 };

	if (!id)
		return tree_text(ctx, "%s", file);
	return device_dir(id, t.dir) ? device_file(ctx, &t, file) : NULL;
}

int tree_view(struct cli *cli, struct layout_view *ret, struct err *err)
{
	*ret = (struct layout_view){ .inv = &cli->inv, .text = view_text, .ctx = cli };
	return inventory_read(cli, err);
}

int layout_of(struct cli *cli, struct layout *ret, struct err *err)
{
	_free_ char *events = NULL;
	struct layout_view view;
	int r = cli->input ? 0 : input_read(cli, cli->argv[0], &cli->input, err);

	*ret = (struct layout){ 0 };
	r = r ?: tree_view(cli, &view, err);
	if (r)
		return r;
	events = tree_text(cli, "events");
	view.events = events;
	return layout_read(strcmp(cli->argv[0], "-") ? cli->argv[0] : "stdin", cli->input,
			   strlen(cli->input), cli->argc > 1 ? cli->argv[1] : NULL, &view, ret,
			   err);
}
