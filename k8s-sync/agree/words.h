/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tree's sentences for people who have the cluster, but no shell on the node. Pure. */
#ifndef SYNC_WORDS_H
#define SYNC_WORDS_H

/* Names the object's field where the tree names its file, and what only a file can do as something
 * that is done on the node. Returns a text that the caller frees; NULL: no memory. */
char *words_for_cluster(const char *sentence);

#endif
