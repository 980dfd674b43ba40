// SPDX-License-Identifier: GPL-2.0-or-later
/* docs/FILES.md, from the tables. */
#include <stdio.h>
#include <sys/stat.h>

#include "internal.h"
#include "pcidevfs/util.h"

static const char *mode_text(const struct attr *row)
{
	if (S_ISDIR(row->mode))
		return "directory";
	if (S_ISLNK(row->mode))
		return "link";
	if (!(row->mode & 0444))
		return "w";
	return row->mode & 0222 ? "rw" : "r";
}

static void print_row(FILE *to, enum obj_kind kind, const struct attr *row)
{
	const char *how = S_ISDIR(row->mode) || S_ISLNK(row->mode) ? "" :
			  row->flags & ATTR_STREAM		   ? "blocks" :
			  row->flags & ATTR_CTL			   ? "transactions" :
			  row->flags & ATTR_CONST		   ? "constant" :
			  row->flags & ATTR_SNAPSHOT		   ? "polls, sized" :
			  row->bits				   ? "polls" :
								     "";
	struct out who = { 0 };

	if (obj_types[kind].bus)
		caps_print(row->caps, &who);
	fprintf(to, "| `%s` | %s | %s | %s | %s | %s |\n", row->name, mode_text(row), out_text(&who), how,
		row->help, row->since);
	out_free(&who);
}

void tree_print_files(FILE *to)
{
	fprintf(to, "# Files of pcidevfs\n\n"
		    "Generated from the tables in fs/ (`make docs`). A file that says *polls* wakes poll with\n"
		    "POLLPRI when it changes; a *constant* one stays as it is for as long as the device is there.\n"
		    "stat tells the true size of these, and of a *sized* one that of the moment; that of others is\n"
		    "4096, as in sysfs.\n");
	for (int k = 0; k < OBJ_KINDS; k++) {
		const struct obj_type *type = &obj_types[k];

		if (!*type->n_rows)
			continue;
		fprintf(to, "\n## /%s\n\n| file | mode | who has it | | meaning | since |\n|---|---|---|---|---|---|\n",
			type->path);
		for (size_t i = 0; i < *type->n_rows; i++)
			if (!(type->rows[i].flags & ATTR_MEMBER))
				print_row(to, k, &type->rows[i]);
		if (type->entries && type->entries->prefix)
			fprintf(to, "| `%s<N>` | link | PF | | its VF number N | 0.1 |\n",
				type->entries->prefix);
	}
}
