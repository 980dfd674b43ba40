/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses lines of pairs, as out_pair() writes them, in place: of inventory, events, profiles. */
#ifndef PCIDEVFS_PAIR_H
#define PCIDEVFS_PAIR_H

#include <stdbool.h>

struct pair {
	const char *key; /* "" for a word without '=': the device's id */
	char *value;
	bool quoted; /* the value was */
};

/*
 * Returns the next pair of the line that *cursor leads through. Start with *cursor at the line,
 * which has no newline. The line is overwritten: pairs point into it, values are unquoted. Returns
 * 1; 0 at the end; -EINVAL for text outside of the tree's format (DESIGN.md 3): an open quote, an
 * invalid escape, a value without a key.
 */
int pair_next(char **cursor, struct pair *ret);
/* The next line of a text that is not empty; NULL: there is none. The text is overwritten. */
char *line_next(char **cursor);

#endif
