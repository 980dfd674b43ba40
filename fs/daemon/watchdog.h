/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does the serving process get on? It answers each request at once, or leaves it to another thread,
 * so that one which is at the same request for two seconds hangs, as one that is stopped does:
 * whoever looks at the tree would wait for ever. Its notifier and its worker wait for nobody
 * either; what they do may take longer. The holder looks from outside and counts looks, not time,
 * as the machine may sleep. It looks while something is in hand, and from the next request on.
 */
#ifndef FS_WATCHDOG_H
#define FS_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "fs/session/session.h"

struct watchdog {
	uint64_t look_at;	   /* now_ms(); UINT64_MAX: at the next request */
	uint64_t in_hand[HANDS];   /* seen by the last look */
	unsigned int looks[HANDS]; /* in a row that saw that */
	/* Likewise, that saw it stopped, and a thread of it that no signal reaches. */
	unsigned int stopped, waiting;
};

/* Another process is there. */
void watchdog_begin(struct watchdog *w);
/* A request has come. */
void watchdog_wake(struct watchdog *w);
/* To be called at look_at; sooner it does nothing. Returns what hangs, NULL: nothing. One that a
 * debugger has, or that dumps core, never does. stash -1: it does not serve yet, and hangs only
 * when it is stopped. */
const char *watchdog_hangs(struct watchdog *w, pid_t server, int stash);
/* Likewise, after its kill. True: a thread of it has waited for a mount for 5 s and is not let go.
 * One that waits for a disk, dumps core or is frozen with its cgroup will be. */
bool watchdog_stays(struct watchdog *w, pid_t server);

#endif
