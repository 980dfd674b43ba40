/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by holder.c and holder_stay.c. */
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
	int former; /* the program before a takeover until the new one has served; else -1 */
	int status; /* of the process, once finished is set */
	bool finished;
	struct server server;
	struct spawn spawn;
	struct takeover takeover;
	struct handover next; /* for the next serving process */
	struct retry retry;
	uint64_t start_at; /* now_ms() of the next start if there is no server */
};

/* Makes the holder end with this status. */
void holder_finish(struct holder *h, int status);
/* Opens the socket where --replace finds us by the mount. */
void holder_listen(struct holder *h);
/* Call it before unmounting: later the number in the socket's name may be another mount's. */
void holder_deafen(struct holder *h);
/* The last resort if the serving process cannot be ended: otherwise callers would wait for ever.
 * They find the new mount by its path, but not by a bind mount. The stuck thread may be waiting for
 * the connection itself; if not, the next process cannot be started. */
void holder_abort_what_stays(struct holder *h);

#endif
