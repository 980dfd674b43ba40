/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does the serving process make progress? It answers each request at once, or leaves it to another
 * thread, so a process that is at the same request for two seconds hangs, as does one that is
 * stopped: callers would wait for ever. Its notifier, its worker and its thread for ctl never wait
 * either, but may take longer. The holder looks from outside and counts looks, not time, because
 * the machine may sleep. It looks while there is work, and again from the next request on.
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
	unsigned int looks[HANDS]; /* consecutive looks that saw it */
	/* Likewise, that saw it stopped, or saw a thread that no signal reaches. */
	unsigned int stopped, waiting;
};

/* A new process has started. */
void watchdog_begin(struct watchdog *w);
/* A request has come. */
void watchdog_wake(struct watchdog *w);
/* Call it at look_at; earlier calls do nothing. Returns what hangs; NULL: nothing. A process under
 * a debugger or dumping core never hangs. stash -1: it does not serve yet, hangs only if
 * stopped. */
const char *watchdog_hangs(struct watchdog *w, pid_t server, int stash);
/* Likewise after its kill. True: a thread has waited for a mount for 5 s and is not let go. Threads
 * that wait for a disk, dump core or are frozen with their cgroup will be let go. */
bool watchdog_stays(struct watchdog *w, pid_t server);
/* Does a thread of it wait for a mount now, as above? */
bool watchdog_waits(pid_t server);

#endif
