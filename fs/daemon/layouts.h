/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All layouts that a program passes to the next by --replace: "stash=2/0 session=1/70000 ...". */
#ifndef FS_LAYOUTS_H
#define FS_LAYOUTS_H

struct err;

#define LAYOUTS_TEXT 512

void layouts_print(char text[static LAYOUTS_TEXT]);
/* Returns 0 if this program has just the layouts in theirs; -EPROTO with the first difference. */
int layouts_check(const char *theirs, struct err *err);

#endif
