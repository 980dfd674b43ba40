/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What requests cost the thread that answers them, for make bench: its own time on a CPU. */
#ifndef PCIDEVFS_FS_COSTS_H
#define PCIDEVFS_FS_COSTS_H

#include <stdbool.h>
#include <stdint.h>

enum { COST_US = 1000 };

struct costs {
	bool wanted;
	uint64_t requests, of_us[COST_US + 1]; /* so many took so many us, the last ones more */
	uint64_t longest_ns, node;
	uint32_t opcode;
};

/* Of this thread, until now. */
uint64_t costs_ns(void);
void costs_note(struct costs *c, uint32_t opcode, uint64_t node, uint64_t ns);
/* On stderr, where there were any. */
void costs_tell(const struct costs *c);

#endif
