// SPDX-License-Identifier: GPL-2.0-or-later
/* A model that a former process wrote, or somebody in its place. */
#include <string.h>
#include <sys/mman.h>

#include "arena.h"
#include "model/diff.h"
#include "model/store.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "test.h"

static const char here[] = "0000:05:00.0", there[] = "0000:06:00.0";

static struct device plain(void)
{
	return (struct device){ .key = pci_key(here), .facts = facts_none };
}

/* Fails for a field whose type model/diff.c does not know. */
DEFINE_TEST(adopt_takes_a_record_of_ours)
{
	struct device d = plain();

	CHECK(device_valid(&d));
	d.facts.parent = pci_key(there);
	d.facts.use = USE_GUEST;
	d.facts.liveness = LIVENESS_LATE;
	d.facts.reserved = RESERVED_SOME;
	memset(d.intent.claim, 'x', sizeof(d.intent.claim) - 1);
	CHECK(device_valid(&d));
}

#define SPOILED(statement)                                                                         \
	do {                                                                                       \
		struct device d = plain();                                                         \
                                                                                                   \
		statement;                                                                         \
		CHECK(!device_valid(&d));                                                          \
	} while (0)

DEFINE_TEST(adopt_refuses_what_nobody_wrote)
{
	SPOILED(d.key.bus = 811);
	SPOILED(d.key.bus = (enum bus)-1);
	SPOILED(d.key.bus = BUS_NONE);
	SPOILED(strcpy(d.key.name, "../../etc"));
	SPOILED(d.key.bus = BUS_USB);
	SPOILED(d.facts.parent.bus = BUS_COUNT);
	SPOILED(d.facts.parent.bus = BUS_PCI);
	SPOILED(d.facts.use = USE_COUNT);
	SPOILED(d.facts.liveness = LIVENESS_UNKNOWN);
	SPOILED(d.state = STATE_COUNT);
	SPOILED(d.kind = KIND_COUNT);
	SPOILED(d.facts.reserved = RESERVED_COUNT);
	SPOILED(memset(&d.facts.boot_vga, 2, 1));
	SPOILED(memset(&d.intent.owned, 0xff, 1));
	SPOILED(memset(&d.taken, 3, 1));
	SPOILED(memset(d.key.name, 'x', sizeof(d.key.name)));
	SPOILED(memset(d.facts.behind.name, 'x', sizeof(d.facts.behind.name)));
	SPOILED(memset(d.facts.driver, 'x', sizeof(d.facts.driver)));
	SPOILED(memset(d.names.resource, 'x', sizeof(d.names.resource)));
	SPOILED(memset(d.intent.claim, 'x', sizeof(d.intent.claim)));
	SPOILED(memset(d.plan_query, 'x', sizeof(d.plan_query)));
}

/* A model of two NICs that all have heard of; the arena stays. */
static struct arena *two_nics(void)
{
	void *arena = new_arena();
	struct model *m = model_on(arena, false);

	model_lock(m);
	CHECK_EQ(model_set_text(m, &put_nic(m, here)->facts.holders, "pid=1\n", 6), 0);
	put_nic(m, there);
	model_publish(m);
	model_unlock(m);
	CHECK(model_dispatch(m));
	model_free(m);
	return arena;
}

/* The bytes of its packed record, in order, to or from buf. */
static size_t move_record(struct arena *a, uint32_t i, char *buf, bool write)
{
	struct block *b = &a->blocks[(atomic_load(&a->slots[i].word) >> 32) - 1];
	uint32_t len;
	char *at = b->data + sizeof(len);

	memcpy(&len, b->data, sizeof(len));
	for (uint32_t k = 0; k < len; k++, at++) {
		if (at == b->data + sizeof(b->data)) {
			b = &a->blocks[b->next - 1];
			at = b->data;
		}
		*(write ? at : buf + k) = *(write ? buf + k : at);
	}
	return len;
}

static struct device record(struct arena *a, uint32_t i)
{
	char buf[sizeof(struct device)];
	struct device d;

	CHECK(device_unpack(&d, buf, move_record(a, i, buf, false)));
	return d;
}

/* Changes numbers of the record d. */
#define CHANGE(a, i, ...)                                                                          \
	do {                                                                                       \
		struct device d = record(a, i);                                                    \
		char buf[sizeof(d)];                                                               \
                                                                                                   \
		__VA_ARGS__;                                                                       \
		device_pack(&d, buf);                                                              \
		move_record(a, i, buf, true);                                                      \
	} while (0)

static size_t removed;

static void hear(void *ctx, const struct change *changes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		removed += changes[i].action == ACTION_REMOVE && !strcmp(changes[i].key.name, here);
}

/* The first of the two is wrong. */
static void expect_dropped(struct arena *arena, bool heard)
{
	const struct key one = pci_key(here), other = pci_key(there);
	struct model *m = model_on(arena, true);

	removed = 0;
	model_observe(m, &(struct observer){ .changed = hear });
	CHECK_EQ(model_dropped(m), 1);
	CHECK_EQ(model_count(m), 1);
	model_lock(m);
	CHECK(!model_find(m, &one));
	CHECK(model_find(m, &other));
	put_nic(m, here);
	model_publish(m);
	CHECK(model_find(m, &one));
	model_unlock(m);
	CHECK(model_dispatch(m));
	CHECK_EQ(removed, heard);
	model_free(m);
	munmap(arena, model_arena_size());
}

DEFINE_TEST(adopt_drops_one_device_alone)
{
	struct arena *a = two_nics();

	CHANGE(a, 0, d.state = 4711);
	expect_dropped(a, true);
	a = two_nics();
	CHANGE(a, 0, d.key.bus = 811); /* nobody can be told which one it was */
	expect_dropped(a, false);
	a = two_nics();
	CHANGE(a, 0, d.birth = UINT64_MAX);
	expect_dropped(a, true);
}

DEFINE_TEST(adopt_reads_texts_that_are_as_told)
{
	struct arena *a = two_nics();

	a->blocks[record(a, 0).facts.holders.at - 1].data[0] ^= 1;
	expect_dropped(a, true);
	a = two_nics();
	CHANGE(a, 0, d.facts.holders.at = BLOCKS + 1);
	expect_dropped(a, true);
	a = two_nics();
	CHANGE(a, 0, d.facts.holders.len = TEXT_MAX + 1);
	expect_dropped(a, true);
	a = two_nics();
	CHANGE(a, 0, d.facts.causes = (struct room){ .at = 1001, .len = TEXT_MAX });
	a->blocks[1000].next = 1001; /* a circle */
	expect_dropped(a, true);
}

/* Records that lead nowhere, or into a circle, or are too long or too short. */
DEFINE_TEST(adopt_drops_what_cannot_be_unpacked)
{
	struct arena *a = two_nics();
	uint64_t word = atomic_load(&a->slots[0].word);
	uint32_t len = sizeof(struct device);

	atomic_store(&a->slots[0].word, (uint32_t)word);
	expect_dropped(a, false);
	a = two_nics();
	atomic_store(&a->slots[0].word, (uint32_t)word | (BLOCKS + 1ull) << 32);
	expect_dropped(a, false);
	a = two_nics();
	a->blocks[(word >> 32) - 1].next = (uint32_t)(word >> 32);
	memcpy(a->blocks[(word >> 32) - 1].data, &len, sizeof(len));
	expect_dropped(a, false);
	a = two_nics();
	len++;
	memcpy(a->blocks[(word >> 32) - 1].data, &len, sizeof(len));
	expect_dropped(a, false);
	a = two_nics();
	len = 9;
	memcpy(a->blocks[(word >> 32) - 1].data, &len, sizeof(len));
	expect_dropped(a, false);
}

DEFINE_TEST(adopt_has_each_key_once)
{
	struct arena *a = two_nics();
	struct model *m;

	CHANGE(a, 1, d.key = pci_key(here));
	m = model_on(a, true);
	CHECK_EQ(model_dropped(m), 1);
	CHECK_EQ(model_count(m), 1);
	model_free(m);
	munmap(a, model_arena_size());
}

DEFINE_TEST(adopt_begins_anew_where_nothing_is_right)
{
	struct arena *a = two_nics();

	atomic_store(&a->generation, UINT64_MAX);
	model_free(model_on(a, false));
	atomic_store(&a->used, MODEL_MAX + 1);
	model_free(model_on(a, false));
	munmap(a, model_arena_size());
}

/* A program with other rules wrote it. */
DEFINE_TEST(adopt_derives_anew)
{
	struct key key = pci_key(here);
	struct arena *a = two_nics();
	struct model *m;

	CHANGE(a, 0, d.caps = CAP_USB);
	CHANGE(a, 0, d.kind = KIND_HUB);
	m = model_on(a, true);
	CHECK_EQ(model_dropped(m), 0);
	model_lock(m);
	CHECK_EQ(model_find(m, &key)->kind, KIND_PCI);
	CHECK(model_find(m, &key)->caps & CAP_NIC);
	model_unlock(m);
	model_free(m);
	munmap(a, model_arena_size());
}

/* The second text that is put into the record would be written over the first device's. */
DEFINE_TEST(adopt_drops_a_text_that_leads_into_a_record)
{
	void *arena = new_arena();
	struct model *m = model_on(arena, false);
	struct arena *a = arena;
	struct device *second;
	uint32_t at;

	model_lock(m);
	CHECK_EQ(model_set_text(m, &put_nic(m, here)->facts.holders, "pid=1\n", 6), 0);
	second = put_nic(m, there);
	memset(second->last_error, 'e', sizeof(second->last_error) - 1);
	model_publish(m);
	model_unlock(m);
	CHECK(model_dispatch(m));
	model_free(m);
	at = (uint32_t)(atomic_load(&a->slots[1].word) >> 32);
	CHANGE(a, 0,
	       d.facts.holders = (struct room){
		       .at = at, .len = 100, .sum = fnv1a(FNV1A, a->blocks[at - 1].data, 100) });
	m = model_on(a, true);
	CHECK_EQ(model_dropped(m), 1);
	CHECK_EQ(model_count(m), 1);
	CHECK(m->taken[at - 1] && m->taken[a->blocks[at - 1].next - 1]);
	model_free(m);
	munmap(a, model_arena_size());
}
