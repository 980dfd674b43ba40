/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The head of each piece of memory that outlives a process. Its owner declares one layout. Memory
 * with another head is made anew, and a program with other layouts does not take over
 * (fs/daemon/layouts.h). */
#ifndef PCIDEVFS_REGION_H
#define PCIDEVFS_REGION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct region_head {
	char magic[8];
	uint32_t abi;  /* counts changes of meaning */
	uint32_t size; /* of its records: a change that sizeof sees needs nothing else */
};

static inline bool region_is(const struct region_head *head, const struct region_head *layout)
{
	return !memcmp(head, layout, sizeof(*head));
}

/* Call it last: a process killed before the final store leaves a region that nobody accepts. */
static inline void region_begin(struct region_head *head, const struct region_head *layout)
{
	memset(head->magic, 0, sizeof(head->magic));
	atomic_signal_fence(memory_order_seq_cst);
	head->abi = layout->abi;
	head->size = layout->size;
	atomic_signal_fence(memory_order_seq_cst);
	memcpy(head->magic, layout->magic, sizeof(head->magic));
}

#endif
