// SPDX-License-Identifier: GPL-2.0-or-later
/* Taking over what a former process left. It may have run foreign code, or a bit of its memory may
 * be wrong: a device whose record this program cannot have written is dropped, and the next look at
 * the machine finds it. */
#include <stdlib.h>

#include "diff.h"
#include "pcidevfs/util.h"
#include "store.h"

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
	const enum kind kind = d->kind;
	bool differs;

	device_identify(d);
	differs = d->caps != caps || d->kind != kind;
	d->caps = caps;
	d->kind = kind;
	return differs;
}

static void adopt(struct model *m, uint32_t i, bool whole)
{
	struct slot *s = &m->a->slots[i];
	struct device *d = slot_current(m, i);

	if (!whole || !is_right(m, d) ||
	    (slot_live(m, i) && slot_find(m, &d->key, false) != INDEX_NONE))
		drop(m, i);
	if (slot_live(m, i)) {
		slot_link(m, i);
		m->count++;
		if (is_outdated(d))
			edit_slot(m, i);
	}
	if (slot_word(m, i) & (WORD_LIVE | WORD_GONE))
		if (s->pending || s->telling ||
		    d->generation > s->heard)
			dispatch_enqueue(m, i, atomic_load(&m->a->generation));
}

void slots_adopt(struct model *m)
{
	const uint64_t both = WORD_LIVE | WORD_GONE;
	uint32_t used = atomic_load(&m->a->used);
	_free_ bool *whole = calloc(used + 1, sizeof(*whole));

	for (uint32_t i = 0; i < used; i++) {
		const uint64_t word = slot_word(m, i);

		if ((word & both) == both)
			atomic_store(&m->a->slots[i].word, word & ~(uint64_t)WORD_GONE);
		if (word & both && record_mark(m, i))
			continue;
		m->dropped += (word & both) != 0;
		atomic_store(&m->a->slots[i].word, 0);
	}
	/* A room that is another's, or leads into a record, would change with it. */
	for (uint32_t i = 0; i < used && whole; i++)
		whole[i] = slot_word(m, i) && record_mark_rooms(m, i);
	rooms_sweep(m);
	for (uint32_t i = 0; i < used; i++)
		if (slot_word(m, i))
			adopt(m, i, whole && whole[i]);
}
