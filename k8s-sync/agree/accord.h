/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Three-way agreement of one value: what the tree says, what the cluster says, and the note, an
 * annotation, of what was last agreed (DESIGN.md 9). Pure.
 *
 * A note is "VALUE", or names a step under way, written before the step is taken, so that whoever
 * is killed in between is understood: "OLD>NEW" towards the tree, "OLD<NEW" towards the cluster.
 */
#ifndef SYNC_ACCORD_H
#define SYNC_ACCORD_H

#include <stdbool.h>
#include <stddef.h>

enum { ACCORD_VALUE = 254 };

enum accord_do {
	ACCORD_REST,	   /* nothing is to be done */
	ACCORD_NOTE,	   /* write the note first */
	ACCORD_TO_TREE,	   /* the tree gets the cluster's value */
	ACCORD_TO_CLUSTER, /* the cluster gets the tree's */
};

struct accord {
	enum accord_do what;
	/* For ACCORD_NOTE; "" removes the note: nothing is agreed, and neither side has a value. */
	char note[2 * ACCORD_VALUE + 2];
	bool overruled; /* both had changed, and the cluster wins; told with the first note only */
	bool agreed;
};

/* Values are texts without '<' and '>'; "none" is the absence of one, on both sides. note NULL:
 * there is none; then a value on one side counts as new. */
void accord_decide(const char *note, const char *tree, const char *cluster, struct accord *ret);

#endif
