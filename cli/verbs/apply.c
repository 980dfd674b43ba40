// SPDX-License-Identifier: GPL-2.0-or-later
/* Devices become what a layout says, by one transaction. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/layout.h"
#include "cli/write.h"
#include "pcidevfs/err.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"

enum { ROUNDS = 8 };

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

static int commit(struct cli *cli, const struct layout *l, struct err *err)
{
	struct transaction t = { 0 };
	int r = 0;

	for (size_t i = 0; i < l->n && !r; i++)
		r = target_find(&cli->inv, l->v[i].id, &cli->targets, err);
	for (size_t i = 0; i < l->n && !r; i++) {
		r = transaction_add(&t, &cli->targets.v[i], l->v[i].file, l->v[i].value, err);
		t.changed |= l->v[i].takes;
	}
	r = r ?: transaction_run(cli, &t, err);
	if (r < 0)
		layout_blame(l, err);
	return r;
}

static bool has_line(const struct layout *l, const struct layout_line *line)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->v[i].id, line->id) && !strcmp(l->v[i].file, line->file) &&
		    !strcmp(l->v[i].value, line->value))
			return true;
	return false;
}

/* Has somebody else written since the layout was read, as another apply beside this one does? Then
 * the layout asks for lines that were not just done. One that was done and is asked for again is not
 * repeated: its value may wait for a reset of the card. */
static bool asks_more(struct cli *cli, const struct layout *done, struct layout *ret)
{
	struct err none = { 0 };
	bool more = false;

	targets_free(&cli->targets);
	tree_inventory_free(&cli->inv);
	if (layout_of(cli, ret, &none))
		return false;
	for (size_t i = 0; i < ret->n && !more; i++)
		more = !has_line(done, &ret->v[i]);
	return more;
}

/* Likewise; one of two that undo each other's work waits for longer, and comes last. */
static bool has_more(struct cli *cli, int round, const struct layout *done, struct layout *ret)
{
	if (!asks_more(cli, done, ret))
		return false;
	layout_free(ret);
	poll(NULL, 0, (int)(((uint64_t)getpid() * 37 + now_ms()) % (20u << round)));
	return asks_more(cli, done, ret);
}

int verb_apply(struct cli *cli, struct err *err)
{
	struct layout layout, done = { 0 };
	int r = layout_of(cli, &layout, err);
	bool more = !r;

	for (int i = 0; more && !r; i++) {
		if (i == ROUNDS)
			r = fail(err, EBUSY,
				 "%s: others are changing the devices of the layout; apply it "
				 "again when they have ended",
				 layout.path);
		else if (i)
			layout_ends(&layout, &cli->inv, tell, NULL);
		r = r ?: commit(cli, &layout, err);
		layout_free(&done);
		done = layout;
		layout = (struct layout){ 0 };
		cli->opt[OPT_JSON] = NULL; /* it is printed */
		more = !r && done.n && !cli->opt[OPT_DRY_RUN] && has_more(cli, i, &done, &layout);
	}
	layout_free(&layout);
	layout_free(&done);
	return r;
}
