// SPDX-License-Identifier: GPL-2.0-or-later
/* Devices become what a layout says, by one transaction. */

#include "cli/cli.h"
#include "cli/layout.h"
#include "cli/write.h"
#include "pcidevfs/err.h"
#include "pcidevfs/say.h"

static void tell(void *ctx, const char *id, const char *file, const char *was)
{
	say("%s/%s: %s goes", id, file, was);
}

/* Before the transaction: who reads it may still press ctrl-C while it begins. */
int apply_tells(struct cli *cli, struct err *err)
{
	struct layout layout;
	int r = layout_of(cli, &layout, err);

	if (!r && !cli->opt[OPT_DRY_RUN])
		layout_ends(&layout, &cli->inv, tell, NULL);
	/* Which is no step. */
	for (size_t i = 0; i < layout.n && !r && cli->opt[OPT_DRY_RUN]; i++)
		if (layout.v[i].takes)
			say("%s/claim: none -> admin", layout.v[i].id);
	layout_free(&layout);
	return r;
}

int verb_apply(struct cli *cli, struct err *err)
{
	struct transaction t = { 0 };
	struct layout layout;
	int r = layout_of(cli, &layout, err);

	for (size_t i = 0; i < layout.n && !r; i++)
		r = target_find(&cli->inv, layout.v[i].id, &cli->targets, err);
	for (size_t i = 0; i < layout.n && !r; i++) {
		r = transaction_add(&t, &cli->targets.v[i], layout.v[i].file, layout.v[i].value,
				    err);
		t.changed |= layout.v[i].takes;
	}
	r = r ?: transaction_run(cli, &t, err);
	if (r < 0)
		layout_blame(&layout, err);
	layout_free(&layout);
	return r;
}
