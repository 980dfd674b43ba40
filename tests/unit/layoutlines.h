/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A layout as text. */
#ifndef LAYOUTLINES_H
#define LAYOUTLINES_H

#include <stdbool.h>

/* What the tree's file reads, as struct layout_view has it. */
typedef char *text_of_file(void *ctx, const char *id, const char *file);

/* "ID/FILE VALUE; ..." of what the layout of this name asks for beside the machine, with what a line
 * is besides: "(hidden)", "(takes)"; or the refusal. ends: then "FILE of ID goes: WHAT IT READS; ..." of
 * what ends. The next call overwrites it. */
const char *layout_lines(const char *inventory, const char *text, const char *name,
			 text_of_file *of, void *ctx, bool ends);

#endif
