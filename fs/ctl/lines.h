/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines of ctl and plan: "<address>/<file> <value>", of which the file's own row judges the
 * value. */
#ifndef FS_LINES_H
#define FS_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "pcidevfs/plan.h"

struct attr;
struct creds;
struct err;
struct tree;

/* Whose lines they are. */
struct lines_of {
	struct tree *tree;
	const char *file;	 /* that they are written to: "ctl", "plan" */
	const struct key *home;	 /* in a device's directory lines name no device; NULL: the root */
	const struct creds *who; /* whose rights count; NULL: nobody's are asked for */
	const struct request *others; /* of the lines before: they may make what is not there */
	size_t n_others;
};

/* The subject of a request: "0000:02:00.0", "0000:02:00.0/virtfn3"; with a home "" or "virtfn3".
 * Neither need be there. -EINVAL with the sentence. */
int line_target(const struct lines_of *of, const char *text, struct request *ret, struct err *err);

/* Where the file's name begins in "<address>/<file>", which may have a slash of its own: "mig/mode"; 0:
 * there is nothing before it. */
size_t line_file(const char *path);

/* Is it blank, or a comment, which begins with #? */
bool line_is_idle(const char *line);

/* Makes a request of one line (without newline; changed meanwhile). label: the file as the line names it.
 * -EINVAL, -ENODEV, -EOPNOTSUPP, -EACCES or what the row's store says, with the sentence. */
int line_request(const struct lines_of *of, char *line, struct request *ret,
	      char label[static LINE_LABEL], struct err *err);

#endif
