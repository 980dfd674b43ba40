// SPDX-License-Identifier: GPL-2.0-or-later
#include "backend/look.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "backend/internal.h"
#include "pcidevfs/key.h"
#include "pcidevfs/model.h"
#include "test.h"

static struct backend backend = { .looks.lock = PTHREAD_MUTEX_INITIALIZER };
static struct looks *const looks = &backend.looks;
static const struct key a = { BUS_PCI, "0000:08:00.0" }, b = { BUS_PCI, "0000:09:00.0" };

static struct look begin(void)
{
	return (struct look){ .b = &backend, .number = ++looks->last };
}

static void publish(struct look *l, const struct key *key)
{
	if (key)
		CHECK_EQ(newest_take(&looks->seen, key, l->number), 1);
	else
		looks->all = l->number;
}

DEFINE_TEST(looks_the_one_begun_last_counts)
{
	struct look first = begin(), second = begin();

	publish(&second, &a);
	CHECK(!look_is_old(&second, &a));
	CHECK(look_is_old(&first, &a));
	CHECK(!look_is_old(&first, &b));
}

DEFINE_TEST(looks_in_turn_are_all_new)
{
	struct look first = begin(), second = begin();

	publish(&first, &a);
	publish(&second, &a);
	CHECK(!look_is_old(&second, &a));
}

DEFINE_TEST(looks_of_all_count_for_each)
{
	struct look first = begin(), second = begin();

	publish(&second, NULL);
	CHECK(look_is_old(&first, &a) && look_is_old(&first, &b));
	CHECK(!look_is_old(&second, &a));
}

/* News from before a look began is in it; later news, or unpublished looks, are not. */
DEFINE_TEST(looks_who_heard_before_is_served)
{
	void *arena = mmap(NULL, model_arena_size(), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct look look = begin();
	uint64_t heard = looks->last, again;
	bool found;

	CHECK_EQ(model_new(arena, model_arena_size(), &backend.model, &found, NULL), 0);
	CHECK(!looked_since(&backend, &a, heard));
	publish(&look, &a);
	CHECK(!looked_since(&backend, &a, heard));
	look = begin();
	again = looks->last;
	CHECK(!looked_since(&backend, &a, heard));
	publish(&look, &a);
	CHECK(looked_since(&backend, &a, heard) && !looked_since(&backend, &b, heard));
	CHECK(!looked_since(&backend, &a, again));
	look = begin();
	publish(&look, NULL);
	CHECK(looked_since(&backend, &a, again) && looked_since(&backend, &b, again));
	model_free(backend.model);
}

/* Of two that tell of a device the one begun last counts, whichever is published last; its own answer
 * may be published again. */
DEFINE_TEST(looks_tell_the_latest)
{
	struct newest t = { 0 };

	CHECK_EQ(newest_take(&t, &a, 2), 1);
	CHECK_EQ(newest_take(&t, &a, 1), 0);
	CHECK_EQ(newest_take(&t, &a, 2), 1);
	CHECK_EQ(newest_take(&t, &b, 1), 1); /* another device */
	CHECK(newest_take(&t, &a, 3) && newest_take(&t, &b, 3));
	CHECK(!newest_take(&t, &a, 2) && !newest_take(&t, &b, 1));
	CHECK_EQ(t.n, 2); /* each once, in a year too */
	free(t.v);
}

/* Each of many devices has its own number. */
DEFINE_TEST(looks_tell_of_many)
{
	struct newest t = { 0 };
	struct key key;
	char name[KEY_NAME];

	for (int i = 499; i >= 0; i--) {
		snprintf(name, sizeof(name), "0000:%02x:%02x.%d", i / 100, i / 8 % 32, i % 8);
		CHECK(key_make(BUS_PCI, name, &key));
		CHECK_EQ(newest_of(&t, &key), 0);
		CHECK_EQ(newest_take(&t, &key, 1 + (unsigned int)i % 2), 1);
		CHECK_EQ(newest_take(&t, &key, 1), !(i % 2));
		CHECK_EQ(newest_of(&t, &key), 1 + (unsigned int)i % 2);
	}
	CHECK_EQ(newest_of(&t, &a), 0);
	free(t.v);
}

DEFINE_TEST(looks_go_no_further_than_they_are_waited_for)
{
	struct look left = begin(), other = begin();

	other.patience_ms = 0;
	CHECK(look_goes_to(&left, &a));
	CHECK(look_goes_to(&other, &a)); /* it is waited for */
	left.left = true;
	looks->left = &left;
	CHECK(!look_goes_to(&other, &a));
	other.patience_ms = 60000;
	CHECK(look_goes_to(&other, &a));
	other.patience_ms = 0;
	CHECK(look_goes_to(&other, &b));
	CHECK(!look_goes_to(&left, &b));
	looks_stop(looks);
	CHECK(!look_goes_to(&other, &b));
}
