// SPDX-License-Identifier: GPL-2.0-or-later
#include "index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Few, so that a small machine touches few pages; with 70 000 devices chains have a dozen slots. */
#define HEADS 8192u

int index_init(struct index *x, uint32_t max)
{
	/* In heads and next 0 means none: they hold slot + 1. */
	*x = (struct index){
		.heads = calloc(HEADS, sizeof(*x->heads)),
		.mask = HEADS - 1,
		.next = calloc(max, sizeof(*x->next)),
		.hash = calloc(max, sizeof(*x->hash)),
		.linked = calloc(max, sizeof(*x->linked)),
	};
	if (x->heads && x->next && x->hash && x->linked)
		return 0;
	index_fini(x);
	return -ENOMEM;
}

void index_fini(struct index *x)
{
	free(x->heads);
	free(x->next);
	free(x->hash);
	free(x->linked);
	*x = (struct index){ 0 };
}

void index_unlink(struct index *x, uint32_t slot)
{
	uint32_t *link;

	if (!x->linked[slot])
		return;
	link = &x->heads[x->hash[slot] & x->mask];
	while (*link && *link != slot + 1)
		link = &x->next[*link - 1];
	if (*link)
		*link = x->next[slot];
	x->linked[slot] = false;
}

void index_link(struct index *x, uint32_t slot, uint32_t hash)
{
	uint32_t *head = &x->heads[hash & x->mask];

	if (x->linked[slot] && x->hash[slot] == hash)
		return;
	index_unlink(x, slot);
	x->hash[slot] = hash;
	x->next[slot] = *head;
	*head = slot + 1;
	x->linked[slot] = true;
}

/* The first slot of the chain from link on that has this very hash. */
static uint32_t same_hash(const struct index *x, uint32_t link, uint32_t hash)
{
	while (link && x->hash[link - 1] != hash)
		link = x->next[link - 1];
	return link ? link - 1 : INDEX_NONE;
}

uint32_t index_first(const struct index *x, uint32_t hash)
{
	return same_hash(x, x->heads[hash & x->mask], hash);
}

uint32_t index_next(const struct index *x, uint32_t slot)
{
	return same_hash(x, x->next[slot], x->hash[slot]);
}
