/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chains of slots by hash: finds rows of a table by what is in them. */
#ifndef MODEL_INDEX_H
#define MODEL_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#define INDEX_NONE UINT32_MAX

struct index {
	uint32_t *heads; /* slot + 1; 0: none */
	uint32_t mask;
	/* by slot */
	struct {
		uint32_t next; /* slot + 1; 0: none */
		uint32_t hash;
		bool linked;
	} * of;
};

/* For slots below max. Returns 0 or -ENOMEM. Pages are touched as slots are linked. A zeroed index
 * is empty. */
int index_init(struct index *x, uint32_t max);
void index_fini(struct index *x);
/* Links the slot under hash, and no longer under its former one. */
void index_link(struct index *x, uint32_t slot, uint32_t hash);
void index_unlink(struct index *x, uint32_t slot);
/* Slots under hash, the last one linked first: s = index_first(x, hash); s != INDEX_NONE;
 * s = index_next(x, s). Other keys with the same hash may be among them. */
uint32_t index_first(const struct index *x, uint32_t hash);
uint32_t index_next(const struct index *x, uint32_t slot);

#endif
