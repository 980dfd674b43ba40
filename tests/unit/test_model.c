// SPDX-License-Identifier: GPL-2.0-or-later
/* The model: what observers hear, what survives the process, what state follows from facts. */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/diff.h"
#include "model/store.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "arena.h"
#include "test.h"

struct heard {
	struct change last[32];
	size_t n;
};

static void hear(void *ctx, const struct change *changes, size_t n)
{
	struct heard *h = ctx;

	for (size_t i = 0; i < n && h->n < ARRAY_SIZE(h->last); i++)
		h->last[h->n++] = changes[i];
}

DEFINE_TEST(observers_hear_what_changed_and_nothing_else)
{
	struct model *m = model_on(new_arena(), false);
	struct heard h = { 0 };
	struct key key = pci_key("0000:01:00.0");

	model_observe(m, &(struct observer){ hear, &h });
	model_lock(m);
	put_nic(m, "0000:01:00.0");
	CHECK_EQ(model_publish(m), 1);
	model_unlock(m);
	CHECK(model_dispatch(m));
	CHECK_EQ(h.n, 1);
	CHECK_EQ(h.last[0].action, ACTION_ADD);
	CHECK_EQ(h.last[0].birth, 1);

	model_lock(m);
	STR_COPY(model_edit(m, &key, false)->facts.driver, "ixgbe");
	CHECK_EQ(model_publish(m), 2);
	STR_COPY(model_edit(m, &key, false)->facts.driver, "ixgbe");
	CHECK_EQ(model_publish(m), 2); /* the same again */
	model_unlock(m);
	CHECK(model_dispatch(m));
	CHECK_EQ(h.n, 2);
	CHECK_EQ(h.last[1].action, ACTION_CHANGE);
	CHECK_EQ(h.last[1].bits, CH_FACT(driver) | CH_STATE | CH_REASON);
	CHECK(model_sync(m, 2, 0));

	model_lock(m);
	model_remove(m, &key);
	CHECK(!model_find(m, &key));
	put_nic(m, "0000:01:00.0"); /* another one at the same place */
	model_publish(m);
	CHECK_EQ(model_find(m, &key)->birth, 4);
	model_unlock(m);
	CHECK(!model_sync(m, 4, 1));
	CHECK(model_dispatch(m));
	CHECK_EQ(h.n, 4);
	CHECK_EQ(h.last[2].action, ACTION_REMOVE);
	CHECK_EQ(h.last[2].birth, 1);
	CHECK_EQ(h.last[3].action, ACTION_ADD);
	CHECK_EQ(h.last[3].birth, 4);
	CHECK(model_sync(m, 4, 1));
	model_stop(m);
	CHECK(!model_dispatch(m));
	model_free(m);
}

static void bring_nic(struct model *m)
{
	model_lock(m);
	put_nic(m, "0000:01:00.0");
	model_publish(m);
	model_unlock(m);
	model_dispatch(m);
}

DEFINE_TEST(changes_of_one_device_become_one)
{
	struct model *m = model_on(new_arena(), false);
	struct heard h = { 0 };
	struct key key = pci_key("0000:01:00.0");

	model_observe(m, &(struct observer){ hear, &h });
	bring_nic(m);
	model_lock(m);
	for (int i = 0; i < 5; i++) {
		model_edit(m, &key, false)->facts.num_vfs = i + 1;
		model_publish(m);
	}
	model_edit(m, &key, false)->facts.numa_node = 1;
	model_publish(m);
	model_unlock(m);
	model_dispatch(m);
	CHECK_EQ(h.n, 2);
	CHECK_EQ(h.last[1].bits, CH_NUMVFS | CH_FACT(numa_node));
	CHECK_EQ(h.last[1].generation, 7);
	model_free(m);
}

static void move_once(void *ctx, const struct change *changes, size_t n)
{
	struct model *m = ctx;

	if (changes[0].action != ACTION_ADD)
		return;
	model_lock(m);
	model_edit(m, &changes[0].key, false)->facts.numa_node = 1;
	model_publish(m);
	model_unlock(m);
}

DEFINE_TEST(what_changes_while_observers_hear_is_told_by_itself)
{
	struct model *m = model_on(new_arena(), false);
	struct heard h = { 0 };

	model_observe(m, &(struct observer){ hear, &h });
	model_observe(m, &(struct observer){ move_once, m });
	bring_nic(m);
	model_dispatch(m);
	CHECK_EQ(h.n, 2);
	CHECK_EQ(h.last[1].action, ACTION_CHANGE);
	CHECK_EQ(h.last[1].bits, CH_FACT(numa_node));
	model_free(m);
}

DEFINE_TEST(what_goes_is_told_whole_whatever_was_to_be_told)
{
	struct model *m = model_on(new_arena(), false);
	struct key key = pci_key("0000:01:00.0");
	struct heard h = { 0 };

	model_observe(m, &(struct observer){ hear, &h });
	bring_nic(m);
	model_lock(m);
	model_edit(m, &key, false)->facts.numa_node = 1;
	model_publish(m);
	model_remove(m, &key);
	model_unlock(m);
	model_dispatch(m);
	CHECK_EQ(h.n, 2);
	CHECK_EQ(h.last[1].action, ACTION_REMOVE);
	CHECK(h.last[1].bits == CH_ALL);
	model_free(m);
}

static void die_hearing(void *ctx, const struct change *changes, size_t n)
{
	pthread_exit(NULL);
}

static void *dispatch_once(void *ctx)
{
	model_dispatch(ctx);
	return NULL;
}

DEFINE_TEST(what_was_being_told_at_a_kill_is_told_again)
{
	void *arena = new_arena();
	struct model *m = model_on(arena, false);
	struct key key = pci_key("0000:01:00.0");
	struct heard h = { 0 };
	pthread_t thread;

	bring_nic(m);
	model_lock(m);
	model_edit(m, &key, false)->facts.numa_node = 1;
	model_publish(m);
	model_unlock(m);
	model_observe(m, &(struct observer){ die_hearing, NULL });
	pthread_create(&thread, NULL, dispatch_once, m);
	pthread_join(thread, NULL);
	model_free(m);

	m = model_on(arena, true);
	model_observe(m, &(struct observer){ hear, &h });
	model_dispatch(m);
	CHECK_EQ(h.n, 1);
	CHECK_EQ(h.last[0].action, ACTION_CHANGE);
	CHECK_EQ(h.last[0].bits, CH_FACT(numa_node));
	model_free(m);
}

DEFINE_TEST(a_fresh_process_knows_what_the_former_knew)
{
	void *arena = new_arena();
	struct model *m = model_on(arena, false);
	struct heard h = { 0 };
	struct key a = pci_key("0000:01:00.0"), b = pci_key("0000:01:00.1");
	const struct device *members[4];

	model_lock(m);
	put_nic(m, "0000:01:00.0")->facts.iommu_group = 7;
	put_nic(m, "0000:01:00.1")->facts.iommu_group = 7;
	STR_COPY(model_edit(m, &a, false)->intent.claim, "alice");
	model_publish(m);
	model_unlock(m);
	model_observe(m, &(struct observer){ hear, &h });
	model_dispatch(m);
	CHECK_EQ(h.n, 2);
	model_lock(m);
	STR_COPY(model_edit(m, &b, false)->intent.claim, "bob"); /* never published */
	model_unlock(m);
	model_free(m); /* killed */

	m = model_on(arena, true);
	model_lock(m);
	CHECK_EQ(model_count(m), 2);
	CHECK_STR(model_find(m, &a)->intent.claim, "alice");
	CHECK_STR(model_find(m, &b)->intent.claim, "");
	CHECK_EQ(model_group(m, 7, members, 4), 2);
	CHECK_STR(members[0]->key.name, "0000:01:00.0");
	model_remove(m, &b); /* nobody hears of it before the next kill */
	model_unlock(m);
	model_free(m);

	m = model_on(arena, true);
	h.n = 0;
	model_observe(m, &(struct observer){ hear, &h });
	CHECK(!model_sync(m, model_generation(m), 0));
	model_dispatch(m);
	CHECK_EQ(h.n, 1);
	CHECK_EQ(h.last[0].action, ACTION_REMOVE);
	CHECK(key_eq(&h.last[0].key, &b));
	model_free(m);
}

/* A process that is killed during its first scan leaves a part of the devices. */
DEFINE_TEST(model_that_was_not_completed_begins_anew)
{
	void *arena = new_arena();
	struct model *m;

	for (int i = 0; i < 3; i++) {
		bool found;

		CHECK_EQ(model_new(arena, model_arena_size(), &m, &found, NULL), 0);
		CHECK_EQ(found, i == 2);
		CHECK_EQ(model_count(m), i == 2);
		model_lock(m);
		if (i < 2)
			put_nic(m, i ? "0000:02:00.0" : "0000:01:00.0");
		model_publish(m);
		model_unlock(m);
		if (i)
			model_complete(m);
		model_free(m);
	}
}

DEFINE_TEST(an_arena_of_another_make_starts_empty)
{
	void *arena = new_arena();
	struct model *m = model_on(arena, false);

	model_lock(m);
	put_nic(m, "0000:01:00.0");
	model_publish(m);
	model_unlock(m);
	model_free(m);
	((uint32_t *)arena)[2] ^= 1; /* the ABI follows the magic */
	m = model_on(arena, false);
	CHECK_EQ(model_count(m), 0);
	model_free(m);
	CHECK_EQ(model_new(arena, 4096, &m, &(bool){ 0 }, NULL), -28);
}

DEFINE_SLOW_TEST(seventy_thousand_functions_fit, 300)
{
	struct model *m = model_on(new_arena(), false);
	char name[KEY_NAME];
	size_t pos = 0, n = 0;
	struct key key;

	model_lock(m);
	for (int i = 0; i < 70000; i++) {
		snprintf(name, sizeof(name), "%04x:%02x:%02x.%d", 0xfff0 + (i >> 16), i >> 8 & 255,
			 i >> 3 & 31, i & 7);
		put_nic(m, name)->facts.iommu_group = i;
	}
	model_publish(m);
	while (model_next(m, &pos))
		n++;
	CHECK_EQ(n, 70000);
	key = pci_key(name);
	CHECK_EQ(model_find(m, &key)->facts.iommu_group, 69999);
	model_unlock(m);
	model_free(m);
}

/* A device is removed and another comes, again and again: places and memory do not run out. */
DEFINE_SLOW_TEST(hot_plug_for_ever, 300)
{
	struct model *m = model_on(new_arena(), false);
	struct key key = pci_key("0000:01:00.0");

	for (int i = 0; i < 200000; i++) {
		model_lock(m);
		CHECK(put_nic(m, "0000:01:00.0"));
		model_publish(m);
		model_remove(m, &key);
		model_unlock(m);
		CHECK(model_dispatch(m));
	}
	CHECK_EQ(model_count(m), 0);
	model_free(m);
}

static void *dispatch_all(void *ctx)
{
	while (model_dispatch(ctx))
		;
	return NULL;
}

struct toggle {
	struct model *m;
	int fn;
};

static void *toggle(void *ctx)
{
	struct toggle *t = ctx;
	char name[16];
	uint64_t generation;
	struct key key;

	snprintf(name, sizeof(name), "0000:01:00.%d", t->fn);
	key = pci_key(name);
	for (int i = 0; i < 500; i++) {
		model_lock(t->m);
		put_nic(t->m, name)->facts.num_vfs = i;
		generation = model_publish(t->m);
		model_unlock(t->m);
		CHECK(model_sync(t->m, generation, 5000));
	}
	model_lock(t->m);
	CHECK_EQ(model_find(t->m, &key)->facts.num_vfs, 499);
	model_unlock(t->m);
	return NULL;
}

DEFINE_TEST(writers_side_by_side_are_heard_in_full)
{
	struct model *m = model_on(new_arena(), false);
	pthread_t dispatcher, threads[4];
	struct toggle toggles[4];
	struct heard h = { 0 };

	model_observe(m, &(struct observer){ hear, &h });
	pthread_create(&dispatcher, NULL, dispatch_all, m);
	for (int i = 0; i < 4; i++) {
		toggles[i] = (struct toggle){ m, i };
		pthread_create(&threads[i], NULL, toggle, &toggles[i]);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	model_stop(m);
	pthread_join(dispatcher, NULL);
	CHECK_EQ(h.n, ARRAY_SIZE(h.last));
	model_free(m);
}

/* KiB that the arena's file takes, whose pages come as they are touched. */
/* As when nothing changes for a while. */
static void rest(struct model *m)
{
	model_lock(m);
	records_begin(m);
	model_unlock(m);
}

static size_t kib_of(int fd)
{
	struct stat st;

	CHECK_EQ(fstat(fd, &st), 0);
	return (size_t)st.st_blocks / 2;
}

static void put_many(struct model *m, unsigned int n, unsigned int vendor)
{
	char name[KEY_NAME];

	model_lock(m);
	for (unsigned int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "0000:%02x:%02x.%u", i >> 8, i >> 3 & 31, i & 7);
		put_nic(m, name)->facts.vendor = (uint16_t)vendor;
	}
	model_publish(m);
	model_unlock(m);
}

/* Records are packed: only a few that are looked at are whole, and former ones go back. */
DEFINE_TEST(memory_of_former_records_is_given_back)
{
	int fd = memfd_create("arena", MFD_CLOEXEC);
	size_t size = model_arena_size(), once;
	struct model *m;
	void *arena;

	CHECK_EQ(ftruncate(fd, (off_t)size), 0);
	arena = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	m = model_on(arena, false);
	put_many(m, 512, 1);
	rest(m);
	once = kib_of(fd);
	CHECK(once < 512 * sizeof(struct device) / 1024 / 3);
	for (unsigned int vendor = 2; vendor < 5; vendor++) {
		struct key key = pci_key("0000:01:1f.7");

		put_many(m, 512, vendor);
		rest(m);
		CHECK(kib_of(fd) <= once + 32);
		/* Some at a time: none is lost. */
		put_many(m, 100, vendor + 10);
		rest(m);
		CHECK(kib_of(fd) <= once + 32);
		model_lock(m);
		CHECK_EQ(model_find(m, &key)->facts.vendor, vendor);
		key = pci_key("0000:00:00.0");
		CHECK_EQ(model_find(m, &key)->facts.vendor, vendor + 10);
		model_remove(m, &key);
		model_unlock(m);
	}
	model_free(m);
	m = model_on(arena, true);
	CHECK_EQ(model_count(m), 511);
	model_free(m);
}

/* A walk through the tree reads every device: that must not unpack them all, which takes pages. */
DEFINE_TEST(readers_of_many_devices_leave_them_packed)
{
	struct model *m = model_on(new_arena(), false);
	const struct device *dev;
	struct device copy;
	const struct key *key;
	size_t pos = 0, n = 0;
	struct key last;

	model_lock(m);
	for (int i = 0; i < 4 * RECORDS_KEPT; i++) {
		char name[KEY_NAME];

		snprintf(name, sizeof(name), "0000:%02x:%02x.0", i >> 5, i & 31);
		put_nic(m, name)->facts.numa_node = i;
	}
	model_publish(m);
	records_begin(m);
	model_unlock(m);
	for (bool more = true; more; n += more) {
		model_lock(m);
		key = model_next_key(m, &pos);
		more = key;
		last = key ? *key : last;
		model_unlock(m);
		CHECK(!more || model_copy(m, &last, &copy));
		CHECK(!more || (key_eq(&copy.key, &last) && copy.facts.numa_node == (int)n));
	}
	CHECK_EQ(n, 4 * RECORDS_KEPT);
	CHECK_EQ(m->n_unpacked, RECORDS_KEPT);
	model_lock(m);
	dev = model_find(m, &last);
	CHECK(dev && !device_diff(dev, &copy) && dev->generation == copy.generation);
	model_unlock(m);
	model_free(m);
}
