/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What holder.c and holder_stay.c share. */
#ifndef FS_HOLDER_STATE_H
#define FS_HOLDER_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "handoff.h"
#include "mountpoint.h"
#include "retry.h"
#include "server.h"
#include "spawn.h"
#include "takeover.h"

struct options;

struct holder {
	const struct options *o;
	char *path;
	struct mount_entry mount;
	bool mounted, ending;
	int fuse, stash, watch, signals, listen;
	int former; /* the program before a takeover, until the new one has served; else -1 */
	int status; /* of the process, once finished is set */
	bool finished;
	struct server server;
	struct server spare; /* the next one, loaded and asleep */
	struct server ended; /* reaped once the next one runs: that may take milliseconds */
	uint64_t spare_at;   /* now_ms() of its start; 0 none is wanted */
	struct spawn spawn;
	struct takeover takeover;
	struct handover next; /* what the next serving process is told */
	struct retry retry;
	uint64_t start_at; /* now_ms() of the next start while there is no server */
};

/* The holder ends with this status. */
void holder_finish(struct holder *h, int status);
/* Whoever asks to take over finds us by the mount. */
void holder_listen(struct holder *h);
/* Before it is unmounted: the number in the socket's name may be another mount's then. */
void holder_deafen(struct holder *h);
/*
 * The last resort, where the serving process cannot be ended. Whoever waits for the tree would do
 * so for ever: by its path he finds it anew, by a bind mount no more. What the thread waits for may
 * be the connection itself, and else the next process cannot be started.
 */
void holder_abort_what_stays(struct holder *h);

#endif
