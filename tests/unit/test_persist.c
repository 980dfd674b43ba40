// SPDX-License-Identifier: GPL-2.0-or-later
/* The rows of what is kept over reboots. */
#include "model/intents/persist.h"

#include <string.h>

#include "fakepci.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/intent.h"
#include "pcidevfs/model.h"
#include "test.h"

#define NIC "0000:02:00.0"

/* A method executes what restore requests, and each key of the state file names one thing. */
DEFINE_TEST(persist_requests_are_complete)
{
	struct world_fake w = { 0 };
	const struct record none = { 0 };
	size_t n = 0;

	fake_machine();
	w = fake_open();
	for (; persists[n]; n++) {
		const struct persist *k = persists[n];
		struct request request = { .dev = { .bus = BUS_PCI } };

		STR_COPY(request.file, k->file);
		/* No backend makes devices by name yet. */
		CHECK(k->made_by || method_find(backend_methods(w.backend), &request));
		CHECK(persist_find(k->file) == k && persist_bit(k) == 1u << n);
		CHECK(k->fields[0].size && !persist_has(k, &none.intent));
		CHECK(k->made_by || !k->none == !k->drifted);
		CHECK(k->keys[0].name);
		for (size_t i = 0; i < PERSIST_KEYS && k->keys[i].name; i++)
			CHECK((k->keys[i].is || k->keys[i].parse) &&
			      persist_key_find(k->keys[i].name) == &k->keys[i]);
	}
	CHECK(n <= 8 * sizeof(none.in));
	fake_close(&w);
}

static void has_all(struct device *dev)
{
	for (size_t i = 0; persists[i]; i++)
		for (const struct persist_field *f = persists[i]->fields;
		     f < persists[i]->fields + ARRAY_SIZE(persists[i]->fields); f++)
			memset((char *)&dev->intent + f->at, 1, f->text ? 1 : f->size);
}

/* Whatever a row says that goes with the claim. */
DEFINE_TEST(a_release_ends_what_is_kept_with_the_claim)
{
	struct request release = fake_request(NIC, 0, "claim", "");
	struct world_fake w = { 0 };
	const struct device *dev;

	fake_machine();
	fake_add(&(struct fake){ NIC, "0x8086\n", "0x10d3\n", "0x020000\n", NULL, 5 });
	w = fake_open();
	fake_edit(&w, NIC, has_all);
	model_lock(w.model);
	CHECK_EQ(method_find(backend_methods(w.backend), &release)
			 ->settle(w.model, model_edit(w.model, &release.dev, false), &release, NULL),
		 0);
	model_publish(w.model);
	dev = model_find(w.model, &release.dev);
	CHECK(dev && !dev->intent.former_known);
	for (size_t i = 0; persists[i]; i++)
		CHECK_EQ(persist_has(persists[i], &dev->intent),
			 !persists[i]->with_claim && !persists[i]->until_release);
	model_unlock(w.model);
	fake_close(&w);
}
