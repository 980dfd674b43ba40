/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A device's line of inventory or events as a struct: each client names the keys that it needs. */
#ifndef CLIENT_LINE_H
#define CLIENT_LINE_H

#include <stdbool.h>
#include <stddef.h>

struct line_field {
	const char *key; /* as inventory has it */
	size_t at;	 /* a const char * of the client's struct, or an int */
	bool number;	 /* an int: -1 where the value is none, or not a number that fits */
};

struct line_type {
	const struct line_field *fields;
	size_t n;
	size_t id;   /* where the struct has its const char *id: "0000:05:00.0", "usb/2-1" */
	size_t size; /* of the struct */
};

/*
 * Fills the fields of ret, a struct of this type whose other members are left alone. Its strings point into id and
 * pairs, which is overwritten (record_next()); never NULL, "" where the value is none or the line lacks the key.
 * -EINVAL: not a line of the tree's format.
 */
int line_read(const struct line_type *t, const char *id, char *pairs, void *ret);

/* A copy of line with strings of its own, for free(). NULL: no memory. */
void *line_copy(const struct line_type *t, const void *line);

#endif
