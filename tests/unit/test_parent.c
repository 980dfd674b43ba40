// SPDX-License-Identifier: GPL-2.0-or-later
/* Who made a device: a parent of any bus, whose children are of any bus. */
#include <string.h>

#include "model/intents/identity.h"
#include "arena.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "test.h"

#define PF "0000:02:00.0"
#define MDEV "mdev/8f0b2c1e-4d11-4c1c-9b7f-0a1b2c3d4e5f"
#define OTHER "mdev/0f0b2c1e-4d11-4c1c-9b7f-0a1b2c3d4e5f"

static struct key key(const char *id)
{
	struct key key;

	CHECK(key_parse(id, &key));
	return key;
}

static void put(struct model *m, const char *id, const char *parent, int index)
{
	const struct key k = key(id);
	struct device *d;

	model_lock(m);
	d = model_edit(m, &k, true);
	d->facts.vendor = 0x8086;
	d->facts.index = index;
	d->facts.parent = parent ? key(parent) : (struct key){ 0 };
	model_publish(m);
	model_unlock(m);
}

/* "0000:02:10.1 mdev/..."; of what is not there "". */
static void check_children(struct model *m, const char *parent, enum bus bus, const char *expected)
{
	const struct device *found[8];
	const struct key k = key(parent);
	char id[KEY_NAME + 8];
	struct out o = { 0 };
	size_t n;

	model_lock(m);
	n = model_children(m, &k, bus, found, ARRAY_SIZE(found));
	CHECK(n <= ARRAY_SIZE(found));
	for (size_t i = 0; i < n; i++)
		out_printf(&o, "%s%s", i ? " " : "", key_id(&found[i]->key, id));
	model_unlock(m);
	CHECK_STR(out_text(&o), expected);
	out_free(&o);
}

DEFINE_TEST(children_are_of_any_bus)
{
	struct model *m = model_on(new_arena(), false);
	const struct device *d;
	const struct key pf = key(PF), mdev = key(MDEV);

	put(m, PF, NULL, -1);
	put(m, "0000:02:10.3", PF, 3);
	put(m, "0000:02:10.1", PF, 1);
	put(m, MDEV, PF, -1);
	put(m, OTHER, PF, -1);
	put(m, "usb/2-1", "usb/2-0", -1);
	check_children(m, PF, BUS_NONE, OTHER " " MDEV " 0000:02:10.1 0000:02:10.3");
	check_children(m, PF, BUS_PCI, "0000:02:10.1 0000:02:10.3");
	check_children(m, PF, BUS_USB, "");
	check_children(m, "usb/2-0", BUS_USB, "usb/2-1");
	model_lock(m);
	d = model_child(m, &pf, 3);
	CHECK(d && !strcmp(d->key.name, "0000:02:10.3") && device_is_vf(d));
	CHECK(!model_child(m, &pf, 2));
	d = model_find(m, &mdev);
	CHECK(d && !device_is_vf(d) && model_parent(m, d) == model_find(m, &pf));
	CHECK(!model_parent(m, model_find(m, &pf)));
	model_remove(m, &pf);
	CHECK(!model_parent(m, model_find(m, &mdev)));
	model_unlock(m);
	put(m, MDEV, "0000:02:10.1", -1);
	check_children(m, PF, BUS_MDEV, OTHER);
	check_children(m, "0000:02:10.1", BUS_NONE, MDEV);
	model_free(m);
}

/* What is no VF is not called by its parent's place and index. */
DEFINE_TEST(identity_of_a_child_of_another_bus_is_its_own)
{
	struct device mdev = { .key = key(MDEV), .facts = { .index = -1, .parent = key(PF) } };
	struct identity id;

	identity_of(&id, &mdev, NULL);
	CHECK_EQ(id.vf, -1);
	CHECK_IN(id.path, "@8f0b2c1e-");
}
