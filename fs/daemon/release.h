/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pcidevfsd --release-all`: every claim, and what an operation has left half done, is given back,
 * with a line for each. */
#ifndef FS_RELEASE_H
#define FS_RELEASE_H

#include <stdbool.h>

struct engine;
struct intents;
struct model;
struct options;

/* Through the tree; *ret_status is 0, or 1 when something was refused. False: no tree that answers
 * is mounted. */
bool release_in_tree(const struct options *o, int *ret_status);
/* Is there no directory in which anything was kept? It is not made; said, with the mount that may
 * have been meant. */
bool release_nothing(const struct options *o, int *ret_status);
/* Of what the model holds and intents_note() told it, by the engine; 0 or 1 likewise. */
int release_by_engine(struct model *m, struct intents *in, struct engine *e);

#endif
