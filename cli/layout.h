/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Layouts, as verbs meet them. */
#ifndef CLI_LAYOUT_H
#define CLI_LAYOUT_H

#include "client/layout/layout.h"

struct cli;
struct err;

/* A view of the tree, whose inventory is read; the texts are cli's. Returns 0 or -errno. */
int tree_view(struct cli *cli, struct layout_view *ret, struct err *err);
/* Reads the layout that the command line names against the tree. ret as of layout_read(). */
int layout_of(struct cli *cli, struct layout *ret, struct err *err);

#endif
