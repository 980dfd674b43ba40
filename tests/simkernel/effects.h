/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Effects of a change in the tree that others notice. */
#ifndef SIM_EFFECTS_H
#define SIM_EFFECTS_H

#include <stdbool.h>

struct fuse_session;
struct sim;

int effects_start(struct sim *s, bool events);
void effects_session(struct sim *s, struct fuse_session *se);
/* Sends a uevent; env is "KEY=value\n" lines, with SUBSYSTEM. */
void uevent(struct sim *s, const char *action, const char *devpath, const char *env);
/* Waits until everything queued before is done; returns with the lock held. */
void sim_sync(struct sim *s);

#endif
