/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPU time of the thread that answers requests, for make bench. */
#ifndef PCIDEVFS_FS_COSTS_H
#define PCIDEVFS_FS_COSTS_H

#include <stdbool.h>
#include <stdint.h>

enum { COST_US = 1000 };

struct costs {
	bool wanted;
	/* of_us[n]: requests that took n us, the last entry n or more */
	uint64_t requests, of_us[COST_US + 1];
	uint64_t longest_ns, node;
	uint32_t opcode;
};

/* CPU time of this thread so far. */
uint64_t costs_ns(void);
void costs_note(struct costs *c, uint32_t opcode, uint64_t node, uint64_t ns);
/* Prints to stderr, if there were requests. */
void costs_tell(const struct costs *c);

#endif
