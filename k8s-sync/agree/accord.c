// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <string.h>

#include "agree.h"
#include "pcidevfs/util.h"

/* What was last agreed, or "none". A step under way is over once its side has the new value, or had
 * it: then that was taken back. */
static void agreed_by(const char *note, const char *tree, const char *had, const char *cluster,
		      char *ret)
{
	size_t n = strcspn(note, "<>");
	const char *to = note + n + (note[n] != '\0');
	bool over = note[n] && (!strcmp(note[n] == '>' ? tree : cluster, to) ||
				(note[n] == '<' && !strcmp(had, to)));

	snprintf(ret, ACCORD_VALUE, "%.*s", over ? (int)strlen(to) : (int)n, over ? to : note);
}

static void note_first(const char *note, const char *want, enum accord_do then, struct accord *ret)
{
	ret->what = strcmp(note, want) ? ACCORD_NOTE : then;
	STR_COPY(ret->note, want);
}

/* The tree is on its way to another value, and has none in between: nobody asked for that. */
static bool is_between(const char *note, const char *tree)
{
	return note && strchr(note, '>') && !strcmp(tree, "none");
}

void accord_decide(const char *note, enum claim_whose whose, const char *tree, const char *had,
		   const char *cluster, struct accord *ret)
{
	char agreed[ACCORD_VALUE], want[sizeof(ret->note)];
	bool anew = whose == WHOSE_ANEW;
	const char *was = whose == WHOSE_OURS ? cluster : anew ? "none" : agreed;

	*ret = (struct accord){ .agreed = !strcmp(tree, cluster) };
	if (ret->agreed) {
		note_first(note ? note : "", strcmp(tree, "none") ? tree : "", ACCORD_REST, ret);
		return;
	}
	agreed_by(note ?: "none", tree, anew ? "none" : had, cluster, agreed);
	if (!strcmp(cluster, was)) {
		snprintf(want, sizeof(want), "%s<%s", was, tree);
		note_first(note ? note : "", want, ACCORD_TO_CLUSTER, ret);
		return;
	}
	/* From here on the tree's value counts as the one that was there before. */
	snprintf(want, sizeof(want), "%s>%s", tree, cluster);
	note_first(note ? note : "", want, ACCORD_TO_TREE, ret);
	ret->overruled = strcmp(tree, agreed) && ret->what == ACCORD_NOTE &&
			 !is_between(note, tree);
}
