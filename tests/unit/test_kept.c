// SPDX-License-Identifier: GPL-2.0-or-later
/* The rows of what is kept over reboots. */
#include "../../model/kept.h"
#include "fakepci.h"
#include "test.h"

/* What restore asks for is carried out by a method, and keys of the state file name one thing each. */
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
			CHECK(k->keys[i].parse && k->keys[i].print && kept_key_find(k->keys[i].name) == &k->keys[i]);
	}
	CHECK(n <= 8 * sizeof(none.in));
	fake_close(&w);
}
