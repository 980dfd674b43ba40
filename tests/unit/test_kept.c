// SPDX-License-Identifier: GPL-2.0-or-later
/* The rows of what is kept over reboots. */
#include "model/intents/kept.h"

#include <string.h>

#include "fakepci.h"
#include "pcidevfs/err.h"
#include "pcidevfs/intent.h"
#include "pcidevfs/model.h"
#include "test.h"

#define NIC "0000:02:00.0"

/* A method executes what restore requests, and each key of the state file names one thing. */
DEFINE_TEST(kept_wishes_are_complete)
{
	struct world_fake w = { 0 };
	const struct record none = { 0 };
	size_t n = 0;

	fake_machine();
	w = fake_open();
	for (; kept[n]; n++) {
		const struct kept *k = kept[n];
		struct wish wish = { .dev = { .bus = BUS_PCI } };

		STR_COPY(wish.file, k->file);
		CHECK(method_find(backend_methods(w.backend), &wish));
		CHECK(kept_find(k->file) == k && kept_bit(k) == 1u << n);
		CHECK(k->fields[0].size && !kept_has(k, &none.want));
		CHECK(!k->value == !k->none && !k->value == !k->drifted);
		CHECK(k->keys[0].name);
		for (size_t i = 0; i < KEPT_KEYS && k->keys[i].name; i++)
			CHECK(k->keys[i].parse && k->keys[i].print &&
			      kept_key_find(k->keys[i].name) == &k->keys[i]);
	}
	CHECK(n <= 8 * sizeof(none.in));
	fake_close(&w);
}

static void has_all(struct device *dev)
{
	for (size_t i = 0; kept[i]; i++)
		for (const struct kept_field *f = kept[i]->fields;
		     f < kept[i]->fields + ARRAY_SIZE(kept[i]->fields); f++)
			memset((char *)&dev->want + f->at, 1, f->text ? 1 : f->size);
}

/* Whatever a row says that goes with the claim. */
DEFINE_TEST(a_release_ends_what_is_kept_with_the_claim)
{
	struct wish release = fake_wish(NIC, 0, "claim", "");
	struct world_fake w = { 0 };
	const struct device *dev;

	fake_machine();
	fake_add(&(struct fake){ NIC, "0x8086\n", "0x10d3\n", "0x020000\n", NULL, 5 });
	w = fake_open();
	fake_edit(&w, NIC, has_all);
	model_lock(w.model);
	CHECK_EQ(method_find(backend_methods(w.backend), &release)->settle(w.model, &release, NULL),
		 0);
	model_publish(w.model);
	dev = model_find(w.model, &release.dev);
	CHECK(dev && !dev->want.former_known);
	for (size_t i = 0; kept[i]; i++)
		CHECK_EQ(kept_has(kept[i], &dev->want), !kept[i]->with_claim);
	model_unlock(w.model);
	fake_close(&w);
}
