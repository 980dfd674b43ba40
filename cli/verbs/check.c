// SPDX-License-Identifier: GPL-2.0-or-later
/* What a file with lines for ctl would do. */
#include <errno.h>
#include <string.h>

#include "cli/access.h"
#include "cli/cli.h"
#include "cli/write.h"
#include "client/ctl.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

/* Others than these act at once, which a file that is only looked at must not do. */
static bool is_harmless(const char *line)
{
	size_t word = strcspn(line, " ");

	return !word || *line == '#' || memchr(line, '/', word) || !strncmp(line, "force ", 6);
}

static int without_commands(char *text, struct out *ret, struct err *err)
{
	for (unsigned int n = 1; text; n++) {
		const char *line = strsep(&text, "\n");

		if (is_harmless(line))
			out_printf(ret, "%s\n", line);
		else if (strcmp(line, "commit") != 0 && strcmp(line, "check") != 0)
			return fail(err, EINVAL, "line %u is not DEV/FILE VALUE: %s", n, line);
	}
	return 0;
}

int verb_check(struct cli *cli, struct err *err)
{
	_free_ char *text = NULL, *answers = NULL;
	struct out lines = { 0 };
	int r = input_read(cli, cli->argv[0], &text, err) ?: without_commands(text, &lines, err);

	out_printf(&lines, "check\n");
	if (!r)
		r = lines.failed ? fail_nomem(err)
				 : tree_exchange(cli, "ctl", out_text(&lines), &answers, err);
	out_free(&lines);
	r = answers ? ctl_verdict(answers, r, err) : r;
	cli->opt[OPT_DRY_RUN] = "";
	return r ?: print_steps(cli, answers, false, err);
}
