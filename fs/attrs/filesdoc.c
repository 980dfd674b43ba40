// SPDX-License-Identifier: GPL-2.0-or-later
/* Makes docs/FILES.md from the tables. */
#include <stdio.h>
#include <sys/stat.h>

#include "fs/internal.h"
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
	const char *how = S_ISDIR(row->mode) || S_ISLNK(row->mode) ? ""
			  : row->flags & ATTR_STREAM		   ? "blocks"
			  : row->flags & ATTR_CTL		   ? "transactions"
			  : row->flags & ATTR_CONST		   ? "constant"
			  : row->ring				   ? "polls, grows"
			  : row->flags & ATTR_SNAPSHOT		   ? (row->bits ? "polls, sized" : "sized")
			  : row->bits				   ? "polls"
								   : "";
	struct out who = { 0 };

	if (obj_type(kind)->bus)
		caps_print(row->caps, &who);
	fprintf(to, "| `%s` | %s | %s | %s | %s | %s |\n", row->name, mode_text(row),
		out_text(&who), how, row->help,
		row->since ? row->since : FIRST_RELEASE);
	out_free(&who);
}

/* Prints one table for all kinds with the same rows; false if it was printed before. */
static bool print_head(FILE *to, enum obj_kind kind)
{
	for (enum obj_kind k = 0; k < kind; k++)
		if (obj_type(k)->tables == obj_type(kind)->tables)
			return false;
	fprintf(to, "\n## /%s", obj_type(kind)->path);
	for (enum obj_kind k = kind + 1; k < OBJ_KINDS; k++)
		if (obj_type(k)->tables == obj_type(kind)->tables)
			fprintf(to, ", /%s", obj_type(k)->path);
	fprintf(to,
		"\n\n| file | mode | who has it | | meaning | since |\n|---|---|---|---|---|---|\n");
	return true;
}

void tree_print_files(FILE *to)
{
	fprintf(to,
		"# Files of pcidevfs\n\n"
		"Generated from the tables in fs/ (`make docs`). A file that says *polls* wakes poll with\n"
		"POLLPRI when it changes; a *constant* one stays as it is for as long as the device is there.\n"
		"stat reports the true size of both, and of a *sized* one once it is open; 4096 until then. As in sysfs it\n"
		"also reports 4096 for a file that somebody has open for writing, and for text made by asking the kernel.\n"
		"A file that *grows* is cut to its newer half at 512 KiB, between two lines, as a log that is rotated:\n"
		"tail -f follows it, and whoever has it open reads on from there.\n");
	for (enum obj_kind k = 0; k < OBJ_KINDS; k++) {
		const struct entries *e = obj_type(k)->entries;
		const struct attr *row;

		if (!row_at(k, 0) || !print_head(to, k))
			continue;
		for (size_t i = 0; (row = row_at(k, i)); i++)
			print_row(to, k, row);
		if (e && e->prefix)
			fprintf(to, "| `%s<N>` | link | PF | | its VF number N | 0.1 |\n",
				e->prefix);
	}
}
