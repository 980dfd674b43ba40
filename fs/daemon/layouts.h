/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All layouts that a program passes to the next by --replace: "stash=2/0 session=1/70000 ...". */
#ifndef FS_LAYOUTS_H
#define FS_LAYOUTS_H

struct err;

#define LAYOUTS_TEXT 512

void layouts_print(char text[static LAYOUTS_TEXT]);
/* Returns 0 if this program can go on with the layouts in theirs: with the same ones, or with others
 * of what it makes anew. -EPROTO with the first one that it cannot go on with. */
int layouts_check(const char *theirs, struct err *err);
/* Clears what this program makes anew, where one with another layout had it. Returns 0 or -errno. */
int layouts_renew(int stash, struct err *err);

#endif
