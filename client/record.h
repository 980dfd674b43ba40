/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line of inventory, events or events_pipe, taken apart where it lies. */
#ifndef CLIENT_RECORD_H
#define CLIENT_RECORD_H

struct pair {
	const char *key; /* "" for a word without '=': the device's id */
	const char *value;
};

/*
 * The next pair of the line that *cursor leads through; the line (no newline) is overwritten: pairs
 * lie in it, values unquoted. Start with *cursor at the line. Returns 1, 0 at its end, -EINVAL for
 * what the tree's format does not know (DESIGN.md 3): an open quote, an escape that is none, a
 * value without a key.
 */
int record_next(char **cursor, struct pair *ret);

#endif
