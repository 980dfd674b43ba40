/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a file of the tree does on reads and writes. */
#ifndef SIM_REACTION_H
#define SIM_REACTION_H

#include <stdbool.h>
#include <sys/types.h>

#define PAGE_TEXT 4096
#define SHOW_MAX 32768 /* of a kernel with larger pages */

struct node;
struct sim;

/* One reaction: a file in every directory of its kind. A new one is one row and its functions. show
 * fills page, which has SHOW_MAX bytes, and returns the length; store gets the text with a NUL at the end. Both return -errno
 * to refuse, are called with the lock held, and may wait if the row says so. */
struct reaction {
	const char *name;
	mode_t mode;
	unsigned int flags;
	bool (*has)(const void *obj); /* NULL: all objects have it */
	ssize_t (*show)(struct sim *s, void *obj, char *page);
	int (*store)(struct sim *s, void *obj, const char *text, size_t len);
	/* Somebody opens it, which -errno refuses, or closes it; NULL: nobody cares. */
	int (*opened)(struct sim *s, void *obj, bool on);
};

enum {
	/* show takes the device lock; obj is, or begins with, a struct dev */
	ROW_LOCKED = 1 << 0,
	ROW_SHARED = 1 << 1,	 /* many may write it at once, as a driver's files; it never goes */
	ROW_LOCKED_OLD = 1 << 2, /* ROW_LOCKED if the kernel's driver_override is */
};

/* Makes the files in dir for the rows that obj has; sim.c. */
void sim_rows(struct sim *s, struct node *dir, const struct reaction *rows, void *obj);

#endif
