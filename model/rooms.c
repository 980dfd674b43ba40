// SPDX-License-Identifier: GPL-2.0-or-later
/* Chains of blocks: texts beside the records, and packed records. A text never changes: a new one
 * is written, and the record that leads to it is swapped in whole. After many writes a sweep finds
 * the blocks that no record leads to. */
#include <errno.h>
#include <string.h>

#include "pcidevfs/util.h"
#include "store.h"

enum { SWEEP_MIN = 512 };

size_t chain_blocks(size_t len)
{
	return (len + sizeof(((struct block *)0)->data) - 1) / sizeof(((struct block *)0)->data);
}

/* The next part of a chain that has this much left; NULL: it leads nowhere. */
static const char *next_part(const struct model *m, uint32_t *at, size_t left, size_t *ret)
{
	const struct block *b;

	if (!*at || *at > BLOCKS)
		return NULL;
	b = &m->a->blocks[*at - 1];
	*ret = left < sizeof(b->data) ? left : sizeof(b->data);
	*at = b->next;
	return b->data;
}

bool chain_get(const struct model *m, uint32_t at, size_t len, char *buf)
{
	const char *data;

	for (size_t part; len && (data = next_part(m, &at, len, &part)); len -= part, buf += part)
		memcpy(buf, data, part);
	return !len;
}

static bool room_valid(const struct model *m, const struct room *r)
{
	size_t left = r->len <= TEXT_MAX ? r->len : 0;
	uint64_t sum = FNV1A;
	uint32_t at = r->at;
	const char *data;

	for (size_t part; left && (data = next_part(m, &at, left, &part)); left -= part)
		sum = fnv1a(sum, data, part);
	return !r->len || (r->len <= TEXT_MAX && !left && sum == r->sum);
}

bool rooms_valid(const struct model *m, const struct device *dev)
{
	bool valid = true;

#define FACT_ROOM(name, bit) valid = valid && room_valid(m, &dev->facts.name);
#include "pcidevfs/facts.def"
	return valid;
}

static void take(struct model *m, uint32_t at)
{
	m->taken[at - 1] = true;
	m->top_block = at > m->top_block ? at : m->top_block;
}

/* Data of a former process is checked. What is not there whole takes no block. */
bool chain_mark(struct model *m, uint32_t at, size_t len)
{
	size_t n = chain_blocks(len), left = n;
	uint32_t first = at;

	for (; left && at && at <= BLOCKS && !m->taken[at - 1]; left--) {
		take(m, at);
		at = m->a->blocks[at - 1].next;
	}
	for (at = first; left && n > left; n--, at = m->a->blocks[at - 1].next)
		m->taken[at - 1] = false;
	return !left;
}

static bool mark(struct model *m, const struct room *r)
{
	bool whole = chain_mark(m, r->at, r->len);

	m->n_taken += whole ? chain_blocks(r->len) : 0;
	return whole;
}

bool rooms_mark(struct model *m, const struct device *d)
{
	bool whole = true;

#define FACT_ROOM(name, bit) whole &= mark(m, &d->facts.name);
#include "pcidevfs/facts.def"
	return whole;
}

void rooms_sweep(struct model *m)
{
	uint32_t used = atomic_load(&m->a->used);

	memset(m->taken, false, m->top_block);
	m->n_taken = m->next_block = m->top_block = 0;
	/* All records first: no room of a former process leads into one, or is another's too. */
	for (uint32_t i = 0; i < used; i++) {
		uint64_t there = slot_word(m, i) & (WORD_LIVE | WORD_GONE);

		if (there && record_mark(m, i))
			continue;
		m->dropped += there != 0;
		atomic_store(&m->a->slots[i].word, 0);
	}
	for (uint32_t i = 0; i < used; i++) {
		m->of[i].whole = slot_word(m, i) && record_mark_rooms(m, i);
		if (m->of[i].edited)
			rooms_mark(m, slot_spare(m, i));
	}
	m->sweep_at = 2 * m->n_taken < SWEEP_MIN ? SWEEP_MIN : 2 * m->n_taken;
	if (m->sweep_at > ROOM_BLOCKS)
		m->sweep_at = ROOM_BLOCKS;
}

/* There must be a free one. */
static uint32_t take_block(struct model *m)
{
	const bool *free = memchr(m->taken + m->next_block, false, BLOCKS - m->next_block);

	m->next_block = (size_t)(free - m->taken) + 1;
	take(m, (uint32_t)m->next_block);
	return (uint32_t)m->next_block;
}

uint32_t chain_put(struct model *m, const char *data, size_t len)
{
	uint32_t at = 0, *link = &at;

	for (size_t part; len; data += part, len -= part) {
		struct block *b;

		*link = take_block(m);
		b = &m->a->blocks[*link - 1];
		part = len < sizeof(b->data) ? len : sizeof(b->data);
		memcpy(b->data, data, part);
		link = &b->next;
	}
	*link = 0;
	return at;
}

bool room_is(const struct room *r, const char *data, size_t len)
{
	return len == r->len && (!len || fnv1a(FNV1A, data, len) == r->sum);
}

int model_set_text(struct model *m, struct room *r, const char *data, size_t len)
{
	size_t n = chain_blocks(len);

	if (room_is(r, data, len))
		return 0;
	if (len > TEXT_MAX)
		return -E2BIG;
	if (m->n_taken + n > m->sweep_at)
		rooms_sweep(m);
	if (m->n_taken + n > ROOM_BLOCKS)
		return -ENOSPC;
	m->n_taken += n;
	*r = (struct room){ .sum = len ? fnv1a(FNV1A, data, len) : 0,
			    .at = chain_put(m, data, len),
			    .len = (uint32_t)len };
	return 0;
}

void model_text(struct model *m, const struct room *r, struct out *o)
{
	const char *data;
	uint32_t at = r->at;

	for (size_t left = r->len, part; left && (data = next_part(m, &at, left, &part));
	     left -= part)
		out_put(o, data, part);
}
