/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state directory, and the copy of its file in memory. Call all of it with save held. */
#ifndef MODEL_INTENT_DIR_H
#define MODEL_INTENT_DIR_H

#include "intents.h"

/* The sentence for a request that cannot be saved; what: a name below the directory, or "". */
int statedir_refuse(struct intents *in, int rc, const char *what, struct err *err);
const char *statedir_way_out(int rc);

/* Makes the directory if it is missing, opens it and takes its lock. If only the lock cannot be
 * made (full, read-only), the directory is open and in->refused has the sentence. */
int statedir_open(struct intents *in, struct err *err);
void statedir_close(struct intents *in);
/* Takes the lock again if it was removed, or failed before. */
int statedir_keep_lock(struct intents *in, struct err *err);
/* The directory in use is no longer the one at the path; *ret_gone: there is none. */
bool statedir_has_moved(const struct intents *in, bool *ret_gone);
/* Uses the directory that is at the path now; if there is none, makes it. -EBUSY: it has intents of
 * its own. */
int statedir_follow(struct intents *in, struct err *err);
/* Where the file is written now. */
struct disk statedir_disk(struct intents *in);

/* Beside the former copy, then swapped: a process killed meanwhile leaves either. */
void copy_keep(struct intents *in, const char *text, size_t len);
/* The text that a former process of this mount wrote last, allocated. -ENOENT, -ENOMEM. */
int copy_read(const struct intents *in, char **ret, size_t *ret_len);

#endif
