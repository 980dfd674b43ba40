/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All that one program hands to the next over --replace, as text: "stash=2/0 session=1/70000
 * ...". */
#ifndef FS_LAYOUTS_H
#define FS_LAYOUTS_H

struct err;

#define LAYOUTS_TEXT 512

void layouts_print(char text[static LAYOUTS_TEXT]);
/* 0 when this program knows all that theirs names and nothing else; -EPROTO with the first that
 * differs. */
int layouts_check(const char *theirs, struct err *err);

#endif
