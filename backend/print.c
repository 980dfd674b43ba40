// SPDX-License-Identifier: GPL-2.0-or-later
/* The backends as docs/FILES.md lists them. */
#include <stdio.h>

#include "ops.h"
#include "pcidevfs/backend.h"
#include "pcidevfs/plan.h"

void backend_print(FILE *to)
{
	fprintf(to,
		"\n"
		"## Backends\n"
		"\n"
		"The backends behind the writable files (backend/backend.c lists them).\n"
		"\n"
		"| backend | what it knows | files | steps |\n"
		"|---|---|---|---|\n");
	for (const struct backend_ops *const *ops = backends; *ops; ops++) {
		fprintf(to, "| %s | %s |", (*ops)->name, (*ops)->help);
		for (const struct method *const *m = (*ops)->methods; m && *m; m++)
			fprintf(to, " `%s`", (*m)->file);
		fprintf(to, " |");
		for (const struct verb *const *v = (*ops)->verbs; v && *v; v++)
			fprintf(to, " `%s`", (*v)->name);
		fprintf(to, " |\n");
	}
}
