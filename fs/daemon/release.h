/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pcidevfsd --release-all`: releases all claims and ends interrupted operations; a line for
 * each. */
#ifndef FS_RELEASE_H
#define FS_RELEASE_H

#include <stdbool.h>

struct engine;
struct model;
struct daemon_options;

/* Through the tree; *ret_status is 0, or 1 after a refusal. False: no tree that answers is
 * mounted. */
bool release_in_tree(const struct daemon_options *o, int *ret_status);
/* Is the state directory missing? Says so, with the mount that may have been meant; makes
 * nothing. */
bool release_nothing(const struct daemon_options *o, int *ret_status);
/* After engine_recover(), which has begun to undo what a daemon has left half way: waits for that.
 * Returns whether something was given back. */
bool release_interrupted(struct model *m, struct engine *e);
/* By the engine, from the model and intents_note(), also what is stuck. any: something was given
 * back before. Returns 0 or 1 likewise. */
int release_by_engine(struct model *m, struct engine *e, bool any);

#endif
