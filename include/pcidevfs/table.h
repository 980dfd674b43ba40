/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table for people, fitted to a width, in ASCII: other characters could be wider, or act on a
 * terminal. The middle of what is too long is left out. */
#ifndef PCIDEVFS_TABLE_H
#define PCIDEVFS_TABLE_H

#include <stddef.h>

struct out;

enum { TABLE_COLUMNS = 16 };

struct table_column {
	const char *head;
	unsigned int least; /* it is cut to no less, unless it is the last one that is left */
	unsigned int rank; /* where there is no room the column with the highest rank is left out */
};

struct table {
	const struct table_column *columns;
	size_t n_columns;   /* TABLE_COLUMNS at most */
	const char **cells; /* borrowed; "" for nothing */
	size_t rows, cap;
};

/* Returns 0 or -ENOMEM. */
int table_row(struct table *t, const char *const *cells);
/* Columns in which nothing stands are left out, but for the first one; else - stands for nothing.
 * Width 0: no limit. */
void table_print(const struct table *t, unsigned int width, struct out *out);
void table_free(struct table *t);

#endif
