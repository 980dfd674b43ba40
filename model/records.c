// SPDX-License-Identifier: GPL-2.0-or-later
/* What outlives a process of a device is packed, without the unused ends of its texts, into a chain
 * of blocks. The whole record beside it is this process's: it is unpacked for who looks. If there
 * are many, they go again when nothing has changed for a while. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "diff.h"
#include "pcidevfs/util.h"
#include "store.h"

enum {
	WORD_AT = 32, /* the bits from here on: the first block's number plus 1 */
};

/* At the head of the chain. */
struct head {
	uint32_t len;
};

static uint32_t chain_of(uint64_t word)
{
	return (uint32_t)(word >> WORD_AT);
}

static struct head head_of(const struct model *m, uint32_t at)
{
	struct head head;

	memcpy(&head, m->a->blocks[at - 1].data, sizeof(head));
	return head;
}

/* Returns the length; 0: the chain leads nowhere, or is longer than a record can be. */
static size_t gather(const struct model *m, uint64_t word, char buf[static sizeof(struct device)])
{
	const struct block *b;
	uint32_t at = chain_of(word);
	size_t done = 0, part;
	struct head head;

	if (!at || at > BLOCKS)
		return 0;
	head = head_of(m, at);
	for (size_t skip = sizeof(head); done < head.len; done += part, skip = 0) {
		if (!at || at > BLOCKS || head.len > sizeof(struct device))
			return 0;
		b = &m->a->blocks[at - 1];
		part = sizeof(b->data) - skip;
		part = part < head.len - done ? part : head.len - done;
		memcpy(buf + done, b->data + skip, part);
		at = b->next;
	}
	return done;
}

static bool unpack(const struct model *m, uint32_t slot, struct device *d)
{
	char buf[sizeof(*d)];

	return device_unpack(d, buf, gather(m, slot_word(m, slot), buf));
}

static void note_unpacked(struct model *m, uint32_t slot)
{
	m->unpacked[slot] = true;
	/* Wakes the thread of model_dispatch(), which packs them up. */
	m->grown |= ++m->n_unpacked == RECORDS_KEPT + 1;
}

struct device *slot_current(struct model *m, uint32_t slot)
{
	struct device *d = &m->a->rec[slot_word(m, slot) & WORD_SECOND][slot];

	if (m->unpacked[slot])
		return d;
	/* Of our own it can be unpacked; slots_adopt() has tried it with all others. */
	if (!unpack(m, slot, d))
		*d = (struct device){ .facts = facts_none };
	note_unpacked(m, slot);
	return d;
}

/* The blocks were marked as a record's: so many there are. */
static void drop_chain(struct model *m, uint32_t at)
{
	size_t n = at ? chain_blocks(sizeof(struct head) + head_of(m, at).len) : 0;

	for (; n && at && at <= BLOCKS; n--, at = m->a->blocks[at - 1].next) {
		m->taken[at - 1] = false;
		m->next_block = at - 1 < m->next_block ? at - 1 : m->next_block;
	}
}

void record_write(struct model *m, uint32_t slot, const struct device *d, unsigned int flags)
{
	char buf[sizeof(struct head) + sizeof(*d)];
	struct head head = { .len = (uint32_t)device_pack(d, buf + sizeof(head)) };
	uint64_t old = slot_word(m, slot);
	uint64_t at;

	memcpy(buf, &head, sizeof(head));
	at = chain_put(m, buf, sizeof(head) + head.len);
	atomic_store(&m->a->slots[slot].word, at << WORD_AT | flags);
	drop_chain(m, chain_of(old));
	if (!m->unpacked[slot])
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
	uint32_t at = chain_of(slot_word(m, slot));
	struct head head = { 0 };

	if (at && at <= BLOCKS)
		head = head_of(m, at);
	return head.len && head.len <= sizeof(struct device) &&
	       chain_mark(m, at, sizeof(head) + head.len);
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

	memset(m->unpacked, false, used);
	m->n_unpacked = 0;
	for (int which = 0; which < 2; which++)
		drop_pages(m->a->rec[which], &m->a->rec[which][used]);
}
