// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The devices that a former process left, which may have run foreign code. A right model is made,
 * then the input writes into it: four bytes each, which part of it, where, and what. Whatever it
 * holds, the next process takes over only records that it could have written, each key once, can
 * judge and show them, and finds the rest anew.
 */
#include <stdint.h>
#include <string.h>

#include "backend/claim.h"
#include "fs/inventory.h"
#include "model/diff.h"
#include "model/store.h"
#include "pcidevfs/util.h"
#include "tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = { "0000:01:00.0", "0000:01:00.1", "0000:02:00.0" };
enum { DEVICES = ARRAY_SIZE(names) };

static struct tree tree;
static struct arena *arena;

static struct model *open_model(void)
{
	struct model *m;
	bool found;

	check(!model_new(arena, model_arena_size(), &m, &found, NULL));
	return m;
}

static struct key key_of(size_t i)
{
	struct key key;

	check(key_make(BUS_PCI, names[i], &key));
	return key;
}

/* Looks at the machine, as a scan would. */
static void look(struct model *m)
{
	static const char text[] = "pid=1 comm=\"qemu\"\n";

	model_lock(m);
	for (size_t i = 0; i < DEVICES; i++) {
		const struct key key = key_of(i);
		struct device *d = model_edit(m, &key, true);

		check(d != NULL);
		d->facts.class_code = 0x020000;
		d->facts.iommu_group = i ? 2 : 1;
		d->facts.has_way = true;
		if (i == 1)
			d->facts.parent = key_of(0);
		(void)!model_set_text(m, &d->facts.holders, text, sizeof(text) - 1);
	}
	model_publish(m);
	model_unlock(m);
	while (model_sync(m, 0, 0) && m->q_len)
		model_dispatch(m);
}

/* What the right model touches: a new one for each input would take most of the time. */
struct part {
	void *at;
	size_t size;
};

static void parts_of(struct part ret[4])
{
	ret[0] = (struct part){ arena, offsetof(struct arena, slots[DEVICES]) };
	ret[1] = (struct part){ arena->rec[0], DEVICES * sizeof(struct device) };
	ret[2] = (struct part){ arena->rec[1], DEVICES * sizeof(struct device) };
	ret[3] = (struct part){ arena->blocks, 8 * sizeof(struct block) };
}

static void make_right(void)
{
	static char *right[4];
	struct part parts[4];
	struct model *m;

	parts_of(parts);
	if (!right[0] || atomic_load(&arena->used) != DEVICES)
		madvise(arena, model_arena_size(), MADV_REMOVE);
	for (int i = 0; i < 4 && right[0]; i++)
		memcpy(parts[i].at, right[i], parts[i].size);
	if (right[0])
		return;
	m = open_model();
	look(m);
	model_free(m);
	for (int i = 3; i >= 0; i--) {
		right[i] = malloc(parts[i].size);
		check(right[i] != NULL);
		memcpy(right[i], parts[i].at, parts[i].size);
	}
}

static void spoil(const uint8_t *at)
{
	size_t which = at[0] >> 3 & 3, where = at[1] | (size_t)at[2] << 8;
	void *const parts[] = {
		arena, &arena->slots[which % DEVICES], &arena->rec[0][which % DEVICES],
		&arena->rec[1][which % DEVICES], &arena->blocks[which],
	};
	const size_t sizes[] = {
		offsetof(struct arena, slots), sizeof(struct slot), sizeof(struct device),
		sizeof(struct device), sizeof(struct block),
	};
	size_t part = (at[0] & 7) % ARRAY_SIZE(parts), room = sizes[part] - where % sizes[part];
	size_t n = at[0] & 0x80 ? 300 : 1;

	memset((char *)parts[part] + where % sizes[part], at[3], n < room ? n : room);
}

static void show(struct model *m)
{
	struct tree at = tree;
	struct device *copy = malloc(sizeof(*copy));
	const struct device *dev;
	size_t pos = 0, n = 0;

	check(copy != NULL);
	at.conf.model = m;
	for (;;) {
		struct out o = { 0 };

		model_lock(m);
		dev = model_next(m, &pos);
		if (dev)
			*copy = *dev;
		model_unlock(m);
		if (!dev)
			break;
		check(device_valid(copy) && ++n <= model_count(m));
		inventory_line(&at, copy, &o);
		model_lock(m);
		check(model_find(m, &copy->key)->birth == copy->birth);
		model_unlock(m);
		out_free(&o);
	}
	check(n == model_count(m));
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct model *m;

	if (!arena) {
		plant(&tree);
		arena = map(model_arena_size());
	}
	make_right();
	for (size_t at = 0; at + 4 <= size; at += 4)
		spoil(data + at);
	m = open_model();
	model_lock(m);
	model_judge(m, &claim_rules);
	model_publish(m);
	model_unlock(m);
	show(m);
	look(m);
	show(m);
	model_free(m);
	return 0;
}
