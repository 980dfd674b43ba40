/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The serving process, for daemon.c, and what it says of itself. */
#ifndef FS_SERVING_H
#define FS_SERVING_H

#include <pthread.h>
#include <stdbool.h>

#include "handoff.h"
#include "instance.h"
#include "oplog.h"
#include "pcidevfs/backend.h"
#include "pcidevfs/intent.h"

struct options;
struct out;

struct daemon {
	const struct options *o;
	int sock;	       /* to the holder */
	int fds[HANDOVER_FDS]; /* /dev/fuse, stash, watch, spawner */
	struct handover from;
	struct roots roots;
	char boot_id[BOOT_ID];
	bool found; /* the former process's model exists: serve it, then scan */
	struct stash *stash;
	struct model *model;
	struct backend *backend;
	struct instance instance;
	struct oplog oplog;
	struct intents *intents;
	struct engine *engine;
	struct tree *tree;
	struct session *session;
	pthread_t watcher, greeter;
	bool watching, greeting;
	bool ended; /* for good: no other process follows */
};

/* For tree_conf; ctx is the daemon. */
void serving_health(void *ctx, struct out *o);
void serving_metrics(void *ctx, struct out *o);
/* The content of a damaged state file is unknown: devices may stay claimed. Returns 1 if it is. */
int serving_tell_damaged(const struct daemon *d);
/* Says at the start that requests cannot be stored, so that the administrator learns it before the
 * first claim. */
void serving_tell_unusable(const struct daemon *d);

#endif
