// SPDX-License-Identifier: GPL-2.0-or-later
/* DEV FILE VALUE, as often as there are devices. */
#include "cli/cli.h"
#include "cli/out.h"
#include "cli/write.h"

int verb_set(struct cli *cli, struct err *err)
{
	struct transaction t = { 0 };
	int r = cli->argc % 3 ? wrong_use(cli->verb, "each device needs a file and a value") : 0;

	for (int i = 0; i < cli->argc && !r; i += 3)
		r = targets_read(cli, &cli->argv[i], 1, err);
	if (!r && cli->targets.n != (size_t)cli->argc / 3)
		r = wrong_use(cli->verb, "set takes one device at a time, not claims/NAME");
	for (size_t i = 0; i < cli->targets.n && !r; i++)
		r = transaction_add(&t, &cli->targets.v[i], cli->argv[3 * i + 1],
				    cli->argv[3 * i + 2], err);
	return r ?: transaction_run(cli, &t, err);
}
