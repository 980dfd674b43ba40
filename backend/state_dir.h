/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In a helper: one call on the state file (world.state, txn.h). The daemon writes it itself as long
 * as landlock(7) lets it; a directory that was made anew is another one. */
#ifndef PCIDEVFS_BACKEND_STATE_DIR_H
#define PCIDEVFS_BACKEND_STATE_DIR_H

/* -EBUSY: another daemon has the lock; else the kernel's errno. */
int state_dir_do(const char *dir, const char *what, const char *text);

#endif
