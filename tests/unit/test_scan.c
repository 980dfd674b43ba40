// SPDX-License-Identifier: GPL-2.0-or-later
/* From files of a machine into the model. */
#include "test.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "backend/bus.h"
#include "backend/internal.h"
#include "fakepci.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"

static struct device device_of(struct model *m, const char *address)
{
	struct key key = fake_key(address);
	const struct device *dev;
	struct device copy = { 0 };

	model_lock(m);
	dev = model_find(m, &key);
	if (dev)
		copy = *dev;
	model_unlock(m);
	return copy;
}

DEFINE_TEST(scan_brings_the_machine_into_the_model)
{
	struct world_fake w;
	struct device pf, vf;

	fake_machine();
	fake_add(&(struct fake){ "0000:02:00.0", "0x8086\n", "0x10c9\n", "0x020000\n", "igb", 5 });
	fake_attr("0000:02:00.0", "sriov_totalvfs", "8\n");
	fake_add(
		&(struct fake){ "0000:02:10.0", "0x8086\n", "0x10ca\n", "0x020000\n", "igbvf", 6 });
	fake_add(&(struct fake){ "10000:e1:00.0", NULL, NULL, NULL, NULL, -1 });
	fake_virtfn("0000:02:00.0", 3, "0000:02:10.0");
	test_file("sys/bus/pci/devices/rubbish/vendor", "0x1\n");
	w = fake_open();
	model_lock(w.model);
	CHECK_EQ(model_count(w.model), 3);
	CHECK(model_has_iommu(w.model));
	model_unlock(w.model);
	pf = device_of(w.model, "0000:02:00.0");
	vf = device_of(w.model, "0000:02:10.0");
	CHECK_EQ(pf.facts.num_vfs, 1);
	CHECK_EQ(pf.facts.index, -1);
	CHECK_STR(vf.facts.parent.name, "0000:02:00.0");
	CHECK_EQ(vf.facts.index, 3);
	CHECK_IN(pf.names.resource, "intel.com/");
	CHECK(pf.names.description[0]);
	CHECK_EQ(device_of(w.model, "10000:e1:00.0").state, STATE_UNHEALTHY);
	fake_close(&w);
}

DEFINE_TEST(scan_removes_what_is_gone)
{
	struct world_fake w;
	struct err err = { 0 };
	struct key vf = fake_key("0000:02:10.0"), other = fake_key("0000:05:00.0");

	fake_machine();
	fake_add(&(struct fake){ "0000:02:00.0", "0x8086\n", "0x10c9\n", "0x020000\n", "igb", 5 });
	fake_add(
		&(struct fake){ "0000:02:10.0", "0x8086\n", "0x10ca\n", "0x020000\n", "igbvf", 6 });
	fake_add(&(struct fake){ "0000:05:00.0", "0x1b36\n", "0x0010\n", "0x010802\n", "nvme", 7 });
	fake_virtfn("0000:02:00.0", 0, "0000:02:10.0");
	w = fake_open();
	CHECK_EQ(device_of(w.model, "0000:02:00.0").facts.num_vfs, 1);
	/* Only the VF is observed: its PF has no event of its own, and follows. The link to it is
	 * left. */
	fake_remove("0000:02:10.0");
	backend_observe(w.backend, &vf, 1, true, &err);
	CHECK_EQ(device_of(w.model, "0000:02:10.0").key.bus, BUS_NONE);
	CHECK_EQ(device_of(w.model, "0000:02:00.0").facts.num_vfs, 0);
	fake_remove("0000:05:00.0");
	CHECK_EQ(backend_scan(w.backend, &err), 0);
	CHECK_EQ(device_of(w.model, other.name).key.bus, BUS_NONE);
	fake_close(&w);
}

/* No event told of it. */
DEFINE_TEST(scan_tells_a_device_from_another_in_its_place)
{
	static const struct fake nvme = { "0000:05:00.0", "0x1b36\n", "0x0010\n", "0x010802\n",
					  "nvme", 7 };
	static const struct {
		const char *attr, *text;
		bool other;
	} steps[] = {
		{ "device", "", false }, /* what could not be read says nothing */
		{ "device", "0x0010\n", false },
		{ "vendor", "0xffff\n", false },
		{ "vendor", "0x1b36\n", false },
		{ "subsystem_device", "0x1100\n", false }, /* nor what was not known */
		{ "subsystem_device", "0x1101\n", true },
		{ "device", "0x0011\n", true },
		{ NULL, NULL, true }, /* an equal one */
	};
	struct key key = fake_key(nvme.address);
	uint64_t birth;
	struct world_fake w;

	fake_machine();
	fake_add(&nvme);
	w = fake_open();
	birth = device_of(w.model, nvme.address).birth;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		struct device dev;

		model_lock(w.model);
		STR_COPY(model_edit(w.model, &key, false)->intent.claim, "vm");
		model_publish(w.model);
		model_unlock(w.model);
		if (steps[i].attr) {
			fake_attr(nvme.address, steps[i].attr, steps[i].text);
		} else {
			CHECK(!rename("sys/bus/pci/devices/0000:05:00.0", "sys/gone"));
			fake_add(&nvme);
		}
		CHECK_EQ(backend_scan(w.backend, NULL), 0);
		dev = device_of(w.model, nvme.address);
		if ((dev.birth != birth) != steps[i].other ||
		    !strcmp(dev.intent.claim, "vm") == steps[i].other)
			FAIL("step %zu: birth %d, claim \"%s\"", i, dev.birth != birth,
			     dev.intent.claim);
		birth = dev.birth;
	}
	fake_close(&w);
}

/* An operation may name a device of any bus; that PCI has none of that name says nothing. */
DEFINE_TEST(scan_leaves_other_buses_alone)
{
	static const char *const ids[] = { "usb/1-4", "usb/2-1.3" };
	struct world_fake w;
	struct err err = { 0 };
	struct key keys[2];

	const struct bus_ops *rows[BUS_COUNT] = { [BUS_PCI] = buses[BUS_PCI] };

	fake_machine();
	w = fake_open();
	w.backend->buses = rows;
	for (int i = 0; i < 2; i++) {
		CHECK(key_parse(ids[i], &keys[i]));
		model_lock(w.model);
		CHECK(model_edit(w.model, &keys[i], true));
		model_publish(w.model);
		model_unlock(w.model);
	}
	CHECK_EQ(backend_observe(w.backend, keys, 2, true, &err), 0);
	for (int i = 0; i < 2; i++) {
		model_lock(w.model);
		CHECK(model_find(w.model, &keys[i]));
		model_unlock(w.model);
	}
	fake_close(&w);
}

/* A daemon that runs out of descriptors has not seen a device go away. */
DEFINE_TEST(scan_keeps_what_it_cannot_look_at)
{
	struct key nvme = fake_key("0000:05:00.0");
	struct rlimit usual, few;
	struct world_fake w;
	struct err err = { 0 };

	fake_machine();
	fake_add(&(struct fake){ nvme.name, "0x1b36\n", "0x0010\n", "0x010802\n", "nvme", 7 });
	w = fake_open();
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
	for (rlim_t n = 3; n < 24; n++) {
		few = (struct rlimit){ n, usual.rlim_max };
		setrlimit(RLIMIT_NOFILE, &few);
		backend_observe(w.backend, &nvme, 1, false, &err);
		setrlimit(RLIMIT_NOFILE, &usual);
		CHECK_EQ(device_of(w.model, nvme.name).facts.vendor, 0x1b36);
	}
	CHECK_EQ(backend_observe(w.backend, &nvme, 1, false, &err), 0);
	fake_close(&w);
}

DEFINE_TEST(scan_needs_a_sysfs)
{
	struct roots roots = fake_roots();
	struct backend *b;
	struct err err = { 0 };

	test_file("sys/nothing", "");
	test_file("dev/nothing", "");
	test_file("proc/nothing", "");
	CHECK_EQ(backend_open(&roots, &b, &err), -ENOENT);
	CHECK_IN(err.text, "has no bus/pci/devices");
}

DEFINE_SLOW_TEST(scan_of_4096_functions_is_quick, 300)
{
	struct world_fake w;
	struct err err = { 0 };
	clock_t start;

	fake_machine();
	for (int i = 0; i < 4096; i++) {
		char address[32], device[16];

		snprintf(address, sizeof(address), "0000:%02x:%02x.%d", i >> 8, i >> 3 & 31, i & 7);
		snprintf(device, sizeof(device), "0x%04x\n", i & 63);
		fake_add(&(struct fake){ address, "0x8086\n", device, "0x020000\n", "igb", i });
		fake_attr(address, "numa_node", "0\n");
		fake_attr(address, "revision", "0x01\n");
		fake_attr(address, "subsystem_vendor", "0x8086\n");
		fake_attr(address, "subsystem_device", "0x0001\n");
	}
	w = fake_open();
	start = clock();
	CHECK_EQ(backend_scan(w.backend, &err), 0);
	/* Of the CPU, whatever else the machine does. 300 ms are asked for; sanitizers get more. */
	CHECK(clock() - start < 3 * CLOCKS_PER_SEC);
	fake_close(&w);
}

/* It comes back into the backend, and from there into the model. */
DEFINE_TEST(backend_stays_while_a_look_hangs)
{
	struct world_fake w;

	fake_machine();
	w = fake_open();
	atomic_fetch_add(&w.backend->left, 1);
	CHECK(!backend_free(w.backend));
	CHECK_EQ(backend_scan(w.backend, NULL), 0);
	atomic_fetch_sub(&w.backend->left, 1);
	CHECK(backend_free(w.backend));
	w.backend = NULL;
	fake_close(&w);
}
