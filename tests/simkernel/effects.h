/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a change of the tree makes others notice. */
#ifndef SIM_EFFECTS_H
#define SIM_EFFECTS_H

#include <stdbool.h>

struct fuse_session;
struct sim;

int effects_start(struct sim *s, bool events);
void effects_session(struct sim *s, struct fuse_session *se);
/* A uevent; env is "KEY=value\n" lines, SUBSYSTEM among them. */
void uevent(struct sim *s, const char *action, const char *devpath, const char *env);
/* Returns with the lock held, when all that was queued before has been carried out. */
void sim_sync(struct sim *s);

#endif
