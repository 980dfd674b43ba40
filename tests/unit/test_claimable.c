// SPDX-License-Identifier: GPL-2.0-or-later
/* `claimable` must match the refusal of a plan for each device, after any change, anywhere. */
#include <string.h>

#include "facts.h"
#include "fakepci.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "test.h"

#define PF "0000:02:00.0"

static const char *const devices[] = {
	PF,		"0000:02:10.0", "0000:02:10.2", "0000:3a:00.0",
	"0000:3b:00.0", "0000:3b:00.1", "0000:3b:00.2", "0000:04:00.0",
};

/* Of a claim by somebody who has none, as the engine plans it; code 0: it goes ahead. */
static struct err planned(struct world_fake *w, const char *address)
{
	const struct request request = fake_request(address, 0, "claim", "mallory");
	struct err err = { 0 };
	struct plan plan;

	if (!plan_make(w->model, backend_methods(w->backend), &request, 1, false, &plan, &err))
		plan_refuse_busy(w->model, &plan, NULL, NULL, &err);
	plan_free(&plan);
	return err;
}

static void check_all(struct world_fake *w, const char *after)
{
	model_lock(w->model);
	for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
		struct key key = fake_key(devices[i]);
		const struct device *dev = model_find(w->model, &key);
		struct err err;

		if (!dev)
			continue;
		err = planned(w, devices[i]);
		if (strcmp(dev->refused, err.text) || dev->refused_code != err.code)
			FAIL("%s: after %s it says \"%s\" (%d), its plan \"%s\" (%d)", devices[i],
			     after, dev->refused, dev->refused_code, err.text, err.code);
		if (dev->state == STATE_FREE && err.code)
			CHECK_STR(err_name(err.code), "EBUSY");
	}
	model_unlock(w->model);
}

static void by_bob(struct device *dev)
{
	STR_COPY(dev->intent.claim, "bob");
}

static void released(struct device *dev)
{
	STR_COPY(dev->intent.claim, "");
	STR_COPY(dev->intent.allocated, "");
}

static void pending(struct device *dev)
{
	STR_COPY(dev->intent.allocated, "pending");
}

static void with_pod(struct device *dev)
{
	STR_COPY(dev->intent.allocated, "default/pod/main");
}

static void to_vfio(struct device *dev)
{
	set_driver(&dev->facts, "vfio-pci");
}

static void needed(struct device *dev)
{
	STR_COPY(dev->facts.critical, "disk sda1 is mounted on /");
}

static void not_needed(struct device *dev)
{
	STR_COPY(dev->facts.critical, "");
}

static void let_go(struct device *dev)
{
	STR_COPY(dev->facts.holder, "");
}

static void odd(struct device *dev)
{
	STR_COPY(dev->facts.garbled, "class holds \"rubbish\"");
}

static void even(struct device *dev)
{
	STR_COPY(dev->facts.garbled, "");
}

static void of_firmware(struct device *dev)
{
	dev->facts.reserved = RESERVED_SOME;
}

static void odd_firmware(struct device *dev)
{
	dev->facts.reserved = RESERVED_ODD;
}

static void behind_another(struct device *dev)
{
	if (strcmp(dev->key.name, "0000:3b:00.0") != 0)
		dev->facts.behind = fake_key("0000:3b:00.0");
}

static void with_vfs(struct device *dev)
{
	dev->facts.num_vfs = 2;
}

static void without_vfs(struct device *dev)
{
	dev->facts.num_vfs = 0;
}

static void runs(struct device *dev)
{
	STR_COPY(dev->busy, "claim carol");
}

static void hangs(struct device *dev)
{
	STR_COPY(dev->stuck, "bind did not end within 10 s");
}

static void ended(struct device *dev)
{
	STR_COPY(dev->busy, "");
	STR_COPY(dev->stuck, "");
}

static void in_group(struct device *dev)
{
	dev->facts.iommu_group = 41;
}

static void in_another(struct device *dev)
{
	dev->facts.iommu_group = 42;
}

static void in_none(struct device *dev)
{
	dev->facts.iommu_group = -1;
}

static void to_vf(struct device *dev)
{
	if (strcmp(dev->key.name, PF) != 0)
		dev->facts.parent = fake_key(PF);
}

static void to_function(struct device *dev)
{
	dev->facts.parent = (struct key){ 0 };
}

static void to_bridge(struct device *dev)
{
	dev->facts.class_code = 0x060400;
}

static void to_nic(struct device *dev)
{
	dev->facts.class_code = 0x020000;
}

/* Nothing is in the way of it. */
static void elsewhere(struct device *dev)
{
	dev->facts.net_elsewhere = true;
}

static void here(struct device *dev)
{
	dev->facts.net_elsewhere = false;
}

static void anew(struct device *dev)
{
	not_needed(dev);
	let_go(dev);
	even(dev);
	here(dev);
	dev->facts.reserved = RESERVED_NONE;
	dev->facts.behind = (struct key){ 0 };
	fake_whole(dev);
	without_vfs(dev);
	ended(dev);
	released(dev);
	to_nic(dev);
}

static const struct {
	const char *name;
	void (*change)(struct device *dev);
} changes[] = {
	{ "anew", anew }, /* every other time */
	{ "claim alice", fake_by_alice },
	{ "claim bob", by_bob },
	{ "claim none", released },
	{ "allocated pending", pending },
	{ "allocated", with_pod },
	{ "vfio", to_vfio },
	{ "no driver", fake_to_none },
	{ "needed", needed },
	{ "not needed", not_needed },
	{ "held", fake_by_qemu },
	{ "interface elsewhere", elsewhere },
	{ "interface here", here },
	{ "let go", let_go },
	{ "garbled", odd },
	{ "not garbled", even },
	{ "mdev", fake_split },
	{ "no mdev", fake_whole },
	{ "reserved memory", of_firmware },
	{ "odd reserved memory", odd_firmware },
	{ "behind another", behind_another },
	{ "VFs", with_vfs },
	{ "no VFs", without_vfs },
	{ "busy", runs },
	{ "stuck", hangs },
	{ "ended", ended },
	{ "group 41", in_group },
	{ "group 42", in_another },
	{ "no group", in_none },
	{ "VF", to_vf },
	{ "no VF", to_function },
	{ "bridge", to_bridge },
	{ "NIC", to_nic },
};

static size_t chosen(uint32_t *seed, size_t n)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (*seed >> 16) % n;
}

/* Adds to `after` what it has done. */
static void change_one(struct world_fake *w, uint32_t *seed, char after[static 256])
{
	const char *address = devices[chosen(seed, ARRAY_SIZE(devices))];
	size_t which = chosen(seed, 2) ? chosen(seed, ARRAY_SIZE(changes) + 2) : 0,
	       n = strlen(after);
	struct key key = fake_key(address);
	struct device *d;

	snprintf(after + n, 256 - n, "%s%s of %s", n ? ", " : "",
		 which < ARRAY_SIZE(changes)  ? changes[which].name
		 : which == ARRAY_SIZE(changes) ? "removal"
						: "IOMMU",
		 address);
	if (which == ARRAY_SIZE(changes)) {
		model_remove(w->model, &key);
		return;
	}
	if (which > ARRAY_SIZE(changes)) {
		model_set_iommu(w->model, chosen(seed, 4));
		return;
	}
	d = model_find(w->model, &key) ? model_edit(w->model, &key, false) : NULL;
	if (!d) {
		d = model_edit(w->model, &key, true);
		d->facts.vendor = 0x8086;
		d->facts.class_code = 0x020000;
		d->facts.iommu_group = 41;
	}
	changes[which].change(d);
}

DEFINE_TEST(claimable_is_what_the_plan_says)
{
	struct world_fake w;
	uint32_t seed = 7;

	fake_machine();
	w = fake_open();
	for (int i = 0; i < 4000; i++) {
		char after[256] = "";

		model_lock(w.model);
		for (size_t n = 1 + chosen(&seed, 3); n; n--)
			change_one(&w, &seed, after);
		model_publish(w.model);
		model_unlock(w.model);
		check_all(&w, after);
	}
	fake_close(&w);
}

/* What is said of a device because of another is an event of its own. */
DEFINE_TEST(claimable_of_a_group_changes_with_one)
{
	const struct key nic = fake_key("0000:04:00.0"), other = fake_key("0000:3b:00.0");
	struct world_fake w;
	uint64_t before;

	fake_machine();
	fake_add(&(struct fake){ nic.name, "0x8086\n", "0x10c9\n", "0x020000\n", NULL, 41 });
	fake_add(&(struct fake){ other.name, "0x8086\n", "0x10c9\n", "0x020000\n", NULL, 41 });
	w = fake_open();
	model_lock(w.model);
	before = model_find(w.model, &nic)->generation;
	CHECK_EQ(model_find(w.model, &nic)->refused_code, 0);
	CHECK_EQ(model_find(w.model, &nic)->state, STATE_FREE);
	model_unlock(w.model);
	fake_edit(&w, other.name, needed);
	model_lock(w.model);
	CHECK(model_find(w.model, &nic)->generation > before);
	CHECK_STR(
		model_find(w.model, &nic)->refused,
		"0000:04:00.0 shares IOMMU group 41 with 0000:3b:00.0, which the host needs: disk sda1 is "
		"mounted on /; the group stays with the host "
		"unless ctl has a line \"force 0000:04:00.0\"");
	CHECK_STR(model_find(w.model, &nic)->reason, model_find(w.model, &nic)->refused);
	CHECK_EQ(model_find(w.model, &nic)->state, STATE_HOST);
	/* What people write to look at it alters nothing of that. */
	before = model_find(w.model, &nic)->generation;
	STR_COPY(model_edit(w.model, &other, false)->last_error, "claim: no");
	model_publish(w.model);
	CHECK_EQ(model_find(w.model, &nic)->generation, before);
	model_unlock(w.model);
	fake_close(&w);
}

/* A PF on vfio-pci stands in the way of its VFs until it is gone. */
DEFINE_TEST(claimable_of_a_vf_follows_its_pf)
{
	const struct key pf = fake_key(PF), vf = fake_key("0000:02:10.0");
	struct world_fake w;

	fake_machine();
	fake_add(&(struct fake){ pf.name, "0x8086\n", "0x10c9\n", "0x020000\n", NULL, 5 });
	fake_add(&(struct fake){ vf.name, "0x8086\n", "0x10ca\n", "0x020000\n", NULL, 6 });
	fake_virtfn(pf.name, 0, vf.name);
	w = fake_open();
	fake_edit(&w, pf.name, without_vfs);
	fake_edit(&w, pf.name, to_vfio);
	model_lock(w.model);
	CHECK_STR(
		model_find(w.model, &vf)->refused,
		"0000:02:10.0 is a VF of 0000:02:00.0, which is on vfio-pci itself; release that first");
	model_remove(w.model, &pf);
	model_publish(w.model);
	CHECK_EQ(model_find(w.model, &vf)->refused_code, 0);
	model_unlock(w.model);
	fake_close(&w);
}
