// SPDX-License-Identifier: GPL-2.0-or-later
/* What outlives a process of a device is packed, without the unused ends of its texts, into a chain
 * of blocks. The whole record beside it is this process's: it is unpacked for who looks. If there
 * are many, they go again when nothing has changed for a while; who wants a copy adds none to
 * many. */
#include <string.h>
#include <sys/mman.h>

#include "diff.h"
#include "store.h"

enum {
	WORD_AT = 32,		 /* the bits from here on: the first block's number plus 1 */
	HEAD = sizeof(uint32_t), /* the length stands before the record */
};

static uint32_t chain_of(uint64_t word)
{
	return (uint32_t)(word >> WORD_AT);
}

/* 0: the chain leads nowhere, or is longer than a record can be. */
static uint32_t len_of(const struct model *m, uint32_t at)
{
	uint32_t len = 0;

	if (at && at <= BLOCKS)
		memcpy(&len, m->a->blocks[at - 1].data, HEAD);
	return len <= sizeof(struct device) ? len : 0;
}

static bool unpack(const struct model *m, uint32_t slot, struct device *d)
{
	char buf[HEAD + sizeof(*d)];
	uint32_t at = chain_of(slot_word(m, slot)), len = len_of(m, at);

	return len && chain_get(m, at, HEAD + len, buf) && device_unpack(d, buf + HEAD, len);
}

static void note_unpacked(struct model *m, uint32_t slot)
{
	m->of[slot].unpacked = true;
	/* Wakes the thread of model_dispatch(), which packs them up. */
	m->grown |= ++m->n_unpacked == RECORDS_KEPT + 1;
}

struct device *slot_current(struct model *m, uint32_t slot)
{
	struct device *d = &m->a->rec[slot_word(m, slot) & WORD_SECOND][slot];

	if (m->of[slot].unpacked)
		return d;
	/* Of our own it can be unpacked; slots_adopt() has tried it with all others. */
	if (!unpack(m, slot, d))
		*d = (struct device){ .facts = facts_none };
	note_unpacked(m, slot);
	return d;
}

/* A packed record begins with its key. */
const struct key *slot_key(const struct model *m, uint32_t slot)
{
	uint64_t word = slot_word(m, slot);

	return m->of[slot].unpacked
		       ? &m->a->rec[word & WORD_SECOND][slot].key
		       : (const void *)(m->a->blocks[chain_of(word) - 1].data + HEAD);
}

void slot_copy(struct model *m, uint32_t slot, struct device *ret)
{
	bool keeps = m->of[slot].unpacked || m->n_unpacked < RECORDS_KEPT;

	if (keeps || !unpack(m, slot, ret))
		*ret = *slot_current(m, slot);
}

/* The blocks were marked as a record's: so many there are. */
static void drop_chain(struct model *m, uint32_t at)
{
	uint32_t len = len_of(m, at);

	for (size_t n = len ? chain_blocks(HEAD + len) : 0; n && at && at <= BLOCKS;
	     n--, at = m->a->blocks[at - 1].next) {
		m->taken[at - 1] = false;
		m->next_block = at - 1 < m->next_block ? at - 1 : m->next_block;
	}
}

void record_write(struct model *m, uint32_t slot, const struct device *d, unsigned int flags)
{
	char buf[HEAD + sizeof(*d)];
	uint32_t len = (uint32_t)device_pack(d, buf + HEAD);
	uint64_t old = slot_word(m, slot);
	uint64_t at;

	memcpy(buf, &len, HEAD);
	at = chain_put(m, buf, HEAD + len);
	atomic_store(&m->a->slots[slot].word, at << WORD_AT | flags);
	drop_chain(m, chain_of(old));
	if (!m->of[slot].unpacked)
		note_unpacked(m, slot);
}

void record_drop(struct model *m, uint32_t slot)
{
	uint64_t old = slot_word(m, slot);

	atomic_store(&m->a->slots[slot].word, 0);
	drop_chain(m, chain_of(old));
}

bool record_mark(struct model *m, uint32_t slot)
{
	uint32_t at = chain_of(slot_word(m, slot)), len = len_of(m, at);

	return len && chain_mark(m, at, HEAD + len);
}

bool record_mark_rooms(struct model *m, uint32_t slot)
{
	struct device d;

	return unpack(m, slot, &d) && rooms_mark(m, &d);
}

static void drop_pages(const void *from, const void *to)
{
	uintptr_t first = ((uintptr_t)from + 4095) & ~(uintptr_t)4095;
	uintptr_t last = (uintptr_t)to & ~(uintptr_t)4095;

	if (first < last)
		madvise((void *)first, last - first, MADV_REMOVE);
}

void records_begin(struct model *m)
{
	uint32_t used = atomic_load(&m->a->used);

	for (uint32_t i = 0; i < used; i++)
		m->of[i].unpacked = false;
	m->n_unpacked = 0;
	for (int which = 0; which < 2; which++)
		drop_pages(m->a->rec[which], &m->a->rec[which][used]);
}

/* ---- taking over what a former process left */

/* It may have run foreign code, or a bit of its memory may be wrong: a device whose record this
 * program cannot have written is dropped, and the next look at the machine finds it. */
static bool is_right(const struct model *m, const struct device *d)
{
	return d->birth <= d->generation && d->generation <= atomic_load(&m->a->generation) &&
	       device_valid(d) && rooms_valid(m, d);
}

/* Observers knew it by its key, and hear that it is gone. */
static void drop(struct model *m, uint32_t i)
{
	struct device *d = slot_current(m, i);
	const struct device gone = {
		.key = d->key,
		.birth = d->birth,
		.generation = atomic_fetch_add(&m->a->generation, 1) + 1,
		.facts = facts_none,
	};

	m->dropped++;
	if (!key_valid(&d->key)) {
		record_drop(m, i);
		return;
	}
	*d = gone;
	record_write(m, i, d, (slot_word(m, i) & WORD_SECOND) | WORD_GONE);
}

/* Does what follows from its facts differ? Then another program wrote it. */
static bool is_outdated(struct device *d)
{
	const uint32_t caps = d->caps;
	const enum device_kind kind = d->kind;
	bool differs;

	device_identify(d);
	differs = d->caps != caps || d->kind != kind;
	d->caps = caps;
	d->kind = kind;
	return differs;
}

static void adopt(struct model *m, uint32_t i)
{
	struct slot *s = &m->a->slots[i];
	struct device *d = slot_current(m, i);

	if (!m->of[i].whole || !is_right(m, d) ||
	    (slot_live(m, i) && slot_find(m, &d->key, false) != INDEX_NONE))
		drop(m, i);
	if (slot_live(m, i)) {
		slot_link(m, i);
		m->count++;
		if (is_outdated(d))
			edit_slot(m, i);
	}
	if (slot_word(m, i) & (WORD_LIVE | WORD_GONE))
		if (s->pending || s->telling || d->generation > s->heard)
			dispatch_enqueue(m, i, atomic_load(&m->a->generation));
}

void slots_adopt(struct model *m)
{
	const uint64_t both = WORD_LIVE | WORD_GONE;
	uint32_t used = atomic_load(&m->a->used);

	for (uint32_t i = 0; i < used; i++)
		if ((slot_word(m, i) & both) == both)
			atomic_fetch_and(&m->a->slots[i].word, ~(uint64_t)WORD_GONE);
	rooms_sweep(m);
	for (uint32_t i = 0; i < used; i++)
		if (slot_word(m, i))
			adopt(m, i);
}
