/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does the serving process get on? It answers each request at once, or leaves it to another thread, so that one which
 * is at the same request for two seconds hangs, as one that is stopped does: whoever looks at the tree would wait for
 * ever. The holder looks from outside and counts looks, not time, as the machine may sleep.
 */
#ifndef FS_WATCHDOG_H
#define FS_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct watchdog {
	uint64_t look_at; /* now_ms() */
	uint64_t request; /* seen by the last look; 0 none */
	unsigned int looks;
};

/* Another process is there. */
void watchdog_begin(struct watchdog *w);
/* To be called at look_at; sooner it does nothing. True: it hangs. One that a debugger has, or that dumps core, never
 * does. stash -1: it does not serve yet, and hangs only when it is stopped. */
bool watchdog_hangs(struct watchdog *w, pid_t server, int stash);

#endif
