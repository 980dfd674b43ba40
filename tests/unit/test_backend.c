// SPDX-License-Identifier: GPL-2.0-or-later
/* What the rows of backend/ promise to each other and to the tables of files. */
#include <stdio.h>
#include <string.h>

#include "backend/ops.h"
#include "fs/daemon/holder.h"
#include "fs/internal.h"
#include "fakepci.h"
#include "pcidevfs/device.h"
#include "pcidevfs/model.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/util.h"
#include "test.h"

static struct world_fake machine(void)
{
	fake_machine();
	return fake_open();
}

DEFINE_TEST(backends_are_complete)
{
	for (const struct backend_ops *const *b = backends; *b; b++)
		CHECK((*b)->name && (*b)->help && ((*b)->methods || (*b)->verbs || (*b)->observe || (*b)->nodes));
}

/* The planner finds a method by file and bus, and takes the first. */
DEFINE_TEST(backends_have_one_method_for_file_and_bus)
{
	struct world_fake w = machine();
	const struct method *const *m = backend_methods(w.backend);

	CHECK(*m);
	for (; *m; m++)
		for (const struct method *const *other = m + 1; *other; other++)
			if (!strcmp((*m)->file, (*other)->file))
				CHECK((*m)->bus && (*other)->bus && (*m)->bus != (*other)->bus);
	fake_close(&w);
}

DEFINE_TEST(methods_are_found_by_bus)
{
	static const struct method pci = { .file = "claim", .bus = BUS_PCI },
				   usb = { .file = "claim", .bus = BUS_USB },
				   all = { .file = "pooled" };
	static const struct method *const methods[] = { &all, &pci, &usb, NULL };
	struct request w = { .dev = { .bus = BUS_USB }, .file = "claim" };

	CHECK(method_find(methods, &w) == &usb);
	w.dev.bus = BUS_PCI;
	CHECK(method_find(methods, &w) == &pci);
	w.child = 3; /* which is not there yet */
	CHECK(method_find(methods, &w) == &pci);
	w.dev.bus = BUS_MDEV;
	CHECK(!method_find(methods, &w));
	STR_COPY(w.file, "pooled");
	CHECK(method_find(methods, &w) == &all);
}

/* The journal finds a step's verb by its backend and its name. */
DEFINE_TEST(backends_use_no_name_twice)
{
	struct world_fake w = machine();
	const struct verb *const *v = backend_verbs(w.backend);

	CHECK(*v);
	for (; *v; v++) {
		char name[VERB_NAME], other_name[VERB_NAME];

		CHECK((*v)->of && strlen((*v)->of) + strlen((*v)->name) + 1 < sizeof(name));
		CHECK((*v)->run && (*v)->deadline_ms);
		verb_name(*v, name);
		for (const struct verb *const *other = v + 1; *other; other++) {
			verb_name(*other, other_name);
			CHECK(strcmp(name, other_name) != 0);
		}
	}
	fake_close(&w);
}

/* Who stops the daemon leaves time for any step that has just begun. */
DEFINE_TEST(steps_end_within_the_grace)
{
	struct world_fake w = machine();

	for (const struct verb *const *v = backend_verbs(w.backend); *v; v++)
		if ((*v)->deadline_ms >= END_GRACE_MS)
			FAIL("%s may take %u ms, an end waits %u", (*v)->name, (*v)->deadline_ms,
			     END_GRACE_MS);
	fake_close(&w);
}

/* A file that can be written is a row here and a method there; neither goes without the other. */
DEFINE_TEST(files_have_methods)
{
	struct world_fake w = machine();
	const struct method *const *methods = backend_methods(w.backend);
	const struct attr *row;

	for (size_t i = 0; (row = row_at(OBJ_DEVICE, i)); i++) {
		struct request request = { .dev = { .bus = BUS_PCI } };

		STR_COPY(request.file, row->name);
		if (row->store && !(row->flags & (ATTR_ASIDE | ATTR_ALIAS)))
			CHECK(method_find(methods, &request));
	}
	for (; *methods; methods++) {
		row = attr_by_name(OBJ_DEVICE, (*methods)->file);
		CHECK(row && row->store);
	}
	fake_close(&w);
}

/* However many go along with a device, an operation looks at all of them. */
DEFINE_TEST(an_op_looks_at_a_large_group)
{
	enum { MEMBERS = 1100 };
	struct fake f = { .vendor = "0x8086", .device = "0x1521", .class = "0x020000", .group = 7 };
	char first[] = "0000:00:00.0", name[sizeof(first)];
	struct key key = fake_key(first);
	struct world_fake w;

	fake_machine();
	for (int i = 0; i < MEMBERS; i++) {
		snprintf(name, sizeof(name), "0000:%02x:%02x.%d", i / 256, i / 8 % 32, i % 8);
		f.address = name;
		fake_add(&f);
	}
	w = fake_open();
	CHECK_EQ(model_count(w.model), MEMBERS);
	for (int i = 1; i < MEMBERS; i++) {
		snprintf(name, sizeof(name), "0000:%02x:%02x.%d", i / 256, i / 8 % 32, i % 8);
		fake_remove(name);
	}
	CHECK_EQ(backend_observe(w.backend, &key, 1, false, NULL), 0);
	CHECK_EQ(model_count(w.model), 1);
	fake_close(&w);
}

/* Who goes along with a claim, however large the group is. */
DEFINE_TEST(a_group_is_claimed_without_its_bridges)
{
	const struct device *v[CLAIM_MEMBERS];
	struct world_fake w;
	struct key key = fake_key("0000:00:00.1"), alone = fake_key("0000:ff:00.0");
	bool cut = true;

	fake_machine();
	w = fake_open();
	model_lock(w.model);
	for (int i = 0; i < CLAIM_MEMBERS + 1; i++) {
		char name[KEY_NAME];
		struct key k;
		struct device *d;

		snprintf(name, sizeof(name), "0000:%02x:%02x.%d", i / 256, i / 8 % 32, i % 8);
		k = fake_key(name);
		d = model_edit(w.model, &k, true);
		d->facts.iommu_group = i < 4 ? 7 : 8;
		d->facts.class_code = i ? 0x020000 : 0x060400;
	}
	model_edit(w.model, &alone, true);
	model_publish(w.model);
	CHECK_EQ(model_claim_members(w.model, model_find(w.model, &key), v, &cut), 3);
	CHECK(!cut);
	CHECK_STR(v[0]->key.name, "0000:00:00.1");
	CHECK_EQ(model_claim_members(w.model, model_find(w.model, &alone), v, NULL), 1);
	CHECK_STR(v[0]->key.name, alone.name);
	for (size_t i = 0; i < 3; i++) {
		key.name[11] = (char)('1' + i);
		model_edit(w.model, &key, false)->facts.iommu_group = 8;
	}
	model_publish(w.model);
	CHECK_EQ(model_claim_members(w.model, model_find(w.model, &key), v, &cut), CLAIM_MEMBERS);
	CHECK(!cut);
	key = fake_key("0000:00:00.0");
	model_edit(w.model, &key, false)->facts.iommu_group = 8;
	model_publish(w.model);
	key = fake_key("0000:00:00.1");
	CHECK_EQ(model_claim_members(w.model, model_find(w.model, &key), v, &cut),
		 CLAIM_MEMBERS - 1);
	CHECK(cut);
	model_unlock(w.model);
	fake_close(&w);
}
