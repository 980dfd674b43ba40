/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Verbs that change something: lines of one transaction. */
#ifndef CLI_WRITE_H
#define CLI_WRITE_H

#include "client/name.h"
#include "pcidevfs/util.h"

struct cli;
struct err;

/* One line of a transaction. */
struct cli_line {
	const struct target *target;
	const char *file, *value;
	char *was; /* what the file read before; NULL: it did not exist, or is not known */
};

struct transaction {
	struct cli_line *lines;
	size_t n, cap;
	bool changed; /* also what no line's file reads */
};

/* Returns 0 or -errno. */
int transaction_add(struct transaction *t, const struct target *target, const char *file,
		    const char *value, struct err *err);
/* Commits it, or with --dry-run only checks it, and prints what there is to print. Frees it. */
int transaction_run(struct cli *cli, struct transaction *t, struct err *err);
/* Prints the steps in the answers of ctl. Without any, changed tells whether something was. */
int print_steps(struct cli *cli, const char *answers, bool changed, struct err *err);

#endif
