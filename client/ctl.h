/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One transaction through the tree's ctl (DESIGN.md 4). */
#ifndef CLIENT_CTL_H
#define CLIENT_CTL_H

struct err;

/*
 * Commits the lines ("0000:05:00.0/claim alice\n"...), all or none. `name` stands in health while it runs.
 * Waits as long as the tree does. Returns 0 or -errno, with the tree's own sentence.
 */
int ctl_commit(const char *tree, const char *name, const char *lines, struct err *err);

#endif
