// SPDX-License-Identifier: GPL-2.0-or-later
/* Texts beside the records: chains of blocks in the same memory. A text never changes: a new one is
 * written, and the record that leads to it is swapped in whole. After many writes a sweep finds the
 * blocks that no record leads to. */
#include <errno.h>
#include <string.h>

#include "pcidevfs/util.h"
#include "store.h"

enum { SWEEP_MIN = 512 };

static size_t blocks_of(size_t len)
{
	return (len + sizeof(((struct block *)0)->data) - 1) / sizeof(((struct block *)0)->data);
}

/* Data of a former process is checked. */
static void mark(struct model *m, const struct room *r)
{
	uint32_t at = r->at;

	for (size_t n = blocks_of(r->len); n && at && at <= BLOCKS && !m->taken[at - 1]; n--) {
		m->taken[at - 1] = true;
		m->n_taken++;
		at = m->a->blocks[at - 1].next;
	}
}

static void mark_record(struct model *m, const struct device *d)
{
#define FACT(type, name, none, bit)
#define FACT_TEXT(name, size, bit)
#define FACT_KEY(name, bit)
#define FACT_ROOM(name, bit) mark(m, &d->facts.name);
#include "pcidevfs/facts.def"
}

void rooms_sweep(struct model *m)
{
	uint32_t used = atomic_load(&m->a->used);

	if (m->n_taken) /* else its pages need not be there */
		memset(m->taken, 0, BLOCKS * sizeof(*m->taken));
	m->n_taken = m->next_block = 0;
	for (uint32_t i = 0; i < used; i++) {
		if (slot_word(m, i) & (WORD_LIVE | WORD_GONE))
			mark_record(m, slot_current(m, i));
		if (m->edited[i])
			mark_record(m, slot_spare(m, i));
	}
	m->sweep_at = 2 * m->n_taken < SWEEP_MIN ? SWEEP_MIN : 2 * m->n_taken;
	if (m->sweep_at > BLOCKS)
		m->sweep_at = BLOCKS;
}

/* There must be a free one. */
static uint32_t take_block(struct model *m)
{
	while (m->taken[m->next_block])
		m->next_block = (m->next_block + 1) % BLOCKS;
	m->taken[m->next_block] = true;
	m->n_taken++;
	return (uint32_t)m->next_block + 1;
}

bool room_is(const struct room *r, const char *data, size_t len)
{
	return len == r->len && (!len || fnv1a(FNV1A, data, len) == r->sum);
}

int model_set_text(struct model *m, struct room *r, const char *data, size_t len)
{
	size_t n = blocks_of(len), part;
	struct room room = { .sum = fnv1a(FNV1A, data, len), .len = (uint32_t)len };
	uint32_t *link = &room.at;

	if (room_is(r, data, len))
		return 0;
	if (len > TEXT_MAX)
		return -E2BIG;
	if (m->n_taken + n > m->sweep_at)
		rooms_sweep(m);
	if (m->n_taken + n > BLOCKS)
		return -ENOSPC;
	for (; len; data += part, len -= part) {
		struct block *b;

		*link = take_block(m);
		b = &m->a->blocks[*link - 1];
		part = len < sizeof(b->data) ? len : sizeof(b->data);
		memcpy(b->data, data, part);
		link = &b->next;
	}
	*link = 0;
	room.sum = room.len ? room.sum : 0;
	*r = room;
	return 0;
}

void model_text(struct model *m, const struct room *r, struct out *o)
{
	size_t left = r->len;
	uint32_t at = r->at;

	while (left && at && at <= BLOCKS) {
		const struct block *b = &m->a->blocks[at - 1];
		size_t part = left < sizeof(b->data) ? left : sizeof(b->data);

		out_put(o, b->data, part);
		left -= part;
		at = b->next;
	}
}
