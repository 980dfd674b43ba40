// SPDX-License-Identifier: GPL-2.0-or-later
#include "fault.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool fault_is(const char *name)
{
	const char *fault = getenv("PCIDEVFS_FAULT");

	return fault && !strcmp(fault, name);
}

void fault_die(void)
{
	raise(SIGKILL);
}

void fault_hang(void)
{
	for (;;)
		pause();
}

void fault_hang_at_change(void *ctx, const struct change *changes, size_t n)
{
	(void)ctx;
	(void)changes;
	(void)n;
	fault_hang();
}
