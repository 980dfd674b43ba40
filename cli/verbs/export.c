// SPDX-License-Identifier: GPL-2.0-or-later
/* What is, as a layout. */
#include <errno.h>

#include "cli/cli.h"
#include "cli/layout.h"
#include "cli/out.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

int verb_export(struct cli *cli, struct err *err)
{
	struct out out = { 0 };
	struct layout_view view;
	int r = tree_view(cli, &view, err)
			?: layout_export(&view, cli->opt[OPT_FORM] ?: "layouts", &out, err);

	if (r == -EINVAL)
		r = wrong_use(cli->verb, "%s", err->text);
	return print_either(cli, r, &out, NULL, err);
}
