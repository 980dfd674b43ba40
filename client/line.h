/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A device's line of inventory or events as a struct; each client names the keys that it needs. */
#ifndef CLIENT_LINE_H
#define CLIENT_LINE_H

#include <stdbool.h>
#include <stddef.h>

struct line_field {
	const char *key; /* as in inventory */
	size_t at;	 /* offset in the client's struct of a const char *, or of an int */
	bool number;	 /* an int: -1 if the value is none, not a number or does not fit */
};

struct line_type {
	const struct line_field *fields;
	size_t n;
	size_t id;   /* offset of the struct's const char *id: "0000:05:00.0", "usb/2-1" */
	size_t size; /* of the struct */
};

/*
 * Fills the fields of ret, a struct of this type; its other members stay untouched. The strings
 * point into id and pairs, which is overwritten (pair_next()). A string is never NULL: it is ""
 * if the value is none or the line lacks the key. Returns 0; -EINVAL: not a line of the tree's
 * format.
 */
int line_read(const struct line_type *t, const char *id, char *pairs, void *ret);

/* Returns a copy of line with its own strings, to be freed by free(). NULL: no memory. */
void *line_copy(const struct line_type *t, const void *line);

#endif
