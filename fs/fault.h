/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Faults of the daemon for tests: PCIDEVFS_FAULT, docs/SURVIVAL.md. */
#ifndef FS_FAULT_H
#define FS_FAULT_H

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline bool fault_is(const char *name)
{
	const char *fault = getenv("PCIDEVFS_FAULT");

	return fault && !strcmp(fault, name);
}

static inline void fault_die(void)
{
	raise(SIGKILL);
}

static inline void fault_hang(void)
{
	for (;;)
		pause();
}

#endif
