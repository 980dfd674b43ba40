// SPDX-License-Identifier: GPL-2.0-or-later
#include "index.h"

#include <errno.h>
#include <stdlib.h>

/* Few, so that a small machine touches few pages; with 70 000 devices chains have a dozen slots. */
#define HEADS 8192u

int index_init(struct index *x, uint32_t max)
{
	*x = (struct index){
		.heads = calloc(HEADS, sizeof(*x->heads)),
		.mask = HEADS - 1,
		.of = calloc(max, sizeof(*x->of)),
	};
	if (x->heads && x->of)
		return 0;
	index_fini(x);
	return -ENOMEM;
}

void index_fini(struct index *x)
{
	free(x->heads);
	free(x->of);
	*x = (struct index){ 0 };
}

void index_unlink(struct index *x, uint32_t slot)
{
	uint32_t *link;

	if (!x->of[slot].linked)
		return;
	link = &x->heads[x->of[slot].hash & x->mask];
	while (*link && *link != slot + 1)
		link = &x->of[*link - 1].next;
	if (*link)
		*link = x->of[slot].next;
	x->of[slot].linked = false;
}

void index_link(struct index *x, uint32_t slot, uint32_t hash)
{
	uint32_t *head = &x->heads[hash & x->mask];

	if (x->of[slot].linked && x->of[slot].hash == hash)
		return;
	index_unlink(x, slot);
	x->of[slot].hash = hash;
	x->of[slot].next = *head;
	*head = slot + 1;
	x->of[slot].linked = true;
}

/* The first slot of the chain from link on that has this very hash. */
static uint32_t same_hash(const struct index *x, uint32_t link, uint32_t hash)
{
	while (link && x->of[link - 1].hash != hash)
		link = x->of[link - 1].next;
	return link ? link - 1 : INDEX_NONE;
}

uint32_t index_first(const struct index *x, uint32_t hash)
{
	return x->heads ? same_hash(x, x->heads[hash & x->mask], hash) : INDEX_NONE;
}

uint32_t index_next(const struct index *x, uint32_t slot)
{
	return same_hash(x, x->of[slot].next, x->of[slot].hash);
}
