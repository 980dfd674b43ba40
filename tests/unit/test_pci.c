// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "backend/internal.h"
#include "backend/bus.h"
#include "fakepci.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"

static struct key key_of(const char *address)
{
	struct key key;

	CHECK(key_make(BUS_PCI, address, &key));
	return key;
}

static int observe(const char *address, struct facts *ret)
{
	struct roots roots = fake_roots();
	struct key key = key_of(address);
	struct sysfs s;
	int rc;

	CHECK(!sysfs_open(&s, roots.sysfs, roots.dev, roots.proc, NULL));
	rc = pci_observe(&s, NULL, &key, ret, NULL);
	sysfs_close(&s);
	return rc;
}

static struct device device_of(struct model *m, const char *address)
{
	struct key key = key_of(address);
	const struct device *dev;
	struct device copy = { 0 };

	model_lock(m);
	dev = model_find(m, &key);
	if (dev)
		copy = *dev;
	model_unlock(m);
	return copy;
}

DEFINE_TEST(pci_facts_are_what_the_files_say)
{
	struct facts f;

	fake_machine();
	fake_add(&(struct fake){ "0000:3b:00.0", "0x10de\n", "0x25b6\n", "0x030200\n", "nvidia",
				 41 });
	fake_attr("0000:3b:00.0", "subsystem_vendor", "0x10de\n");
	fake_attr("0000:3b:00.0", "subsystem_device", "0x157e\n");
	fake_attr("0000:3b:00.0", "revision", "0xa1\n");
	fake_attr("0000:3b:00.0", "numa_node", "1\n");
	fake_attr("0000:3b:00.0", "boot_vga", "1\n");
	fake_attr("0000:3b:00.0", "sriov_totalvfs", "16\n");
	fake_attr("0000:3b:00.0", "reset", "");
	test_file("sys/bus/pci/devices/0000:3b:00.0/vfio-dev/vfio7/dev", "1:2\n");
	CHECK_EQ(observe("0000:3b:00.0", &f), 0);
	CHECK_EQ(f.vendor, 0x10de);
	CHECK_EQ(f.device, 0x25b6);
	CHECK_EQ(f.class_code, 0x030200);
	CHECK_EQ(f.subvendor, 0x10de);
	CHECK_EQ(f.subdevice, 0x157e);
	CHECK_EQ(f.revision, 0xa1);
	CHECK_EQ(f.numa_node, 1);
	CHECK_EQ(f.total_vfs, 16);
	CHECK_EQ(f.num_vfs, 0);
	CHECK_EQ(f.iommu_group, 41);
	CHECK(f.boot_vga && f.has_reset);
	CHECK_STR(f.driver, "nvidia");
	CHECK_EQ(f.use, USE_HOST);
	CHECK_STR(f.nodes, "");
	test_file("dev/vfio/devices/vfio7", "");
	test_file("dev/vfio/41", "");
	CHECK_EQ(observe("0000:3b:00.0", &f), 0);
	CHECK_STR(f.nodes, "/dev/vfio/vfio /dev/vfio/41 /dev/vfio/devices/vfio7");
	test_file("dev/iommu", "");
	CHECK_EQ(observe("0000:3b:00.0", &f), 0);
	CHECK_STR(f.nodes, "/dev/vfio/vfio /dev/vfio/41 /dev/vfio/devices/vfio7 /dev/iommu");
}

DEFINE_TEST(pci_function_has_the_mdev_that_was_made_of_it)
{
	static const char dir[] = "sys/bus/pci/devices/0000:3b:00.4/%s/mdev_type";
	static const char *const uuids[] = { "aaaaaaaa-0000-4000-8000-000000000001",
					     "AAAAAAAA-0000-4000-8000-000000000001",
					     "aaaaaaaa-0000-4000-8000-000000000000",
					     "aaaaaaaa-0000-4000-8000-000000000002" };
	static const char *const reads[] = { "aaaaaaaa-0000-4000-8000-000000000001",
					     "aaaaaaaa-0000-4000-8000-000000000001",
					     "aaaaaaaa-0000-4000-8000-000000000000",
					     "aaaaaaaa-0000-4000-8000-000000000000" };
	static const int count[] = { 1, 1, 2, 3 };
	char path[128];
	struct facts f;

	fake_machine();
	fake_add(&(struct fake){ "0000:3b:00.4", "0x10de\n", "0x25b6\n", "0x030200\n", "nvidia",
				 42 });
	CHECK_EQ(observe("0000:3b:00.4", &f), 0);
	CHECK_STR(f.mdev, "");
	for (size_t i = 0; i < ARRAY_SIZE(uuids); i++) {
		snprintf(path, sizeof(path), dir, uuids[i]);
		test_file(path, "");
		CHECK_EQ(observe("0000:3b:00.4", &f), 0);
		CHECK_STR(f.mdev, reads[i]);
		CHECK_EQ(f.mdevs, count[i]);
	}
}

/* A removed card takes its PF's link before the VF's. Without its path it would be another
 * device. */
DEFINE_TEST(pci_half_of_a_card_is_none)
{
	struct facts f;

	fake_machine();
	fake_add(&(struct fake){ "0000:02:00.0", "0x8086", "0x10c9", "0x020000", NULL, 5 });
	fake_add(&(struct fake){ "0000:02:10.0", "0x8086", "0x10ca", "0x020000", NULL, 6 });
	fake_virtfn("0000:02:00.0", 0, "0000:02:10.0");
	CHECK_EQ(observe("0000:02:10.0", &f), 0);
	fake_remove("0000:02:00.0");
	CHECK_EQ(observe("0000:02:10.0", &f), -ENODEV);
}

DEFINE_TEST(pci_garbled_files_are_none)
{
	char big[8192], longest[300];
	struct facts f;

	memset(big, '9', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	memset(longest, 'd', 200);
	longest[200] = '\0';
	fake_machine();
	fake_add(&(struct fake){ "0000:00:01.0", "0x12345\n", "\xff\xfe", big, longest, -1 });
	fake_attr("0000:00:01.0", "numa_node", "-1\n");
	fake_attr("0000:00:01.0", "sriov_totalvfs", "-7\n");
	CHECK(!chdir(test_dir()));
	CHECK(!symlink("../../groups/x1", "sys/bus/pci/devices/0000:00:01.0/iommu_group"));
	CHECK(!symlink("../../etc", "sys/bus/pci/devices/0000:00:01.0/physfn"));
	CHECK(!mkfifo("sys/bus/pci/devices/0000:00:01.0/boot_vga", 0600));
	fake_attr("0000:00:01.0", "virtfnX", "");
	fake_attr("0000:00:01.0", "virtfn99999", "");
	CHECK_EQ(observe("0000:00:01.0", &f), 0);
	CHECK_EQ(f.vendor | f.device, 0);
	CHECK_EQ(f.class_code, 0);
	CHECK_EQ(f.numa_node, -1);
	CHECK_EQ(f.total_vfs, 0); /* a PF all the same */
	CHECK_EQ(f.num_vfs, 0);
	CHECK_EQ(f.iommu_group, -1);
	CHECK_STR(f.driver, "");
	CHECK_STR(f.garbled, "vendor holds \"0x12345\"");
	CHECK_STR(f.parent.name, "");
	CHECK(!f.boot_vga);
	CHECK_EQ(observe("0000:00:02.0", &f), -ENODEV);
}

/* text: NULL for none, "->" before where a link leads. */
static void garble(const char *name, const char *text)
{
	char path[128];

	CHECK(!chdir(test_dir()));
	snprintf(path, sizeof(path), "sys/bus/pci/devices/0000:02:00.0/%s", name);
	if (unlink(path) && errno != ENOENT)
		FAIL("%s: %m", path);
	if (text && !strncmp(text, "->", 2))
		CHECK(!symlink(text + 2, path));
	else if (text)
		fake_attr("0000:02:00.0", name, text);
}

#define NINES "999999999999999999999999999999999999999999999999999999999999999999999999999"

DEFINE_TEST(pci_tells_what_is_garbled)
{
	static const struct {
		const char *name, *bad, *told, *good;
	} rows[] = {
		{ "vendor", "rubbish\n", "vendor holds \"rubbish\"", "0x8086\n" },
		{ "device", "\x1b[2J\"\xff\n", "device holds \"?[2J??\"", "0x10c9\n" },
		{ "class", "", "class holds \"\"", "0x020000\n" },
		{ "class", "0x1000000\n", "class holds \"0x1000000\"", "0x020000\n" },
		{ "class", NULL, "there is no class", "0x020000\n" },
		{ "class", NINES, "class holds \"999999999999999999999999\" ...", "0x020000\n" },
		{ "subsystem_vendor", "-1\n", "subsystem_vendor holds \"-1\"", NULL },
		{ "subsystem_device", NINES,
		  "subsystem_device holds \"999999999999999999999999\" ...", "0x1\n" },
		{ "revision", "0x100\n", "revision holds \"0x100\"", NULL },
		{ "numa_node", "-2\n", "numa_node holds \"-2\"", "-1\n" },
		{ "boot_vga", "2\n", "boot_vga holds \"2\"", NULL },
		{ "sriov_totalvfs", "\xff\x01x\n", "sriov_totalvfs holds \"??x\"", "7\n" },
		{ "sriov_drivers_autoprobe", "x", "sriov_drivers_autoprobe holds \"x\"", "1\n" },
		{ "iommu_group", "->../groups/x1", "iommu_group leads to \"x1\"", "->../groups/1" },
		{ "physfn", "->../0000:02:20.0", "physfn leads to \"0000:02:20.0\"", NULL },
		{ "driver", "->../drivers/" NINES, "driver cannot be read (ENAMETOOLONG)", NULL },
		{ "reset", NULL, "", NULL },
	};
	struct facts f;

	fake_machine();
	fake_add(&(struct fake){ "0000:02:00.0", "0x8086\n", "0x10c9\n", "0x020000\n", NULL, -1 });
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		garble(rows[i].name, rows[i].bad);
		CHECK_EQ(observe("0000:02:00.0", &f), 0);
		CHECK_STR(f.garbled, rows[i].told);
		garble(rows[i].name, rows[i].good);
		CHECK_EQ(observe("0000:02:00.0", &f), 0);
		CHECK_STR(f.garbled, "");
	}
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
	struct key vf = key_of("0000:02:10.0"), other = key_of("0000:05:00.0");

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
	struct key nvme = key_of("0000:05:00.0");
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
	CHECK_EQ(backend_open(&roots, NULL, &b, &err), -ENOENT);
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

DEFINE_TEST(a_place_has_no_bus_numbers)
{
	static const struct {
		const char *target, *path;
	} rows[] = {
		{ "../../../devices/pci0000:00/0000:00:1c.4/0000:05:00.0", "0000:00/1c.4/00.0" },
		{ "../../../devices/pci0000:00/0000:00:1f.3", "0000:00/1f.3" },
		{ "../../../devices/platform/40000000.pcie/pci0002:00/0002:00:00.0",
		  "0002:00/00.0" },
		/* VMD: the second root's domain is only counted up. */
		{ "../../../devices/pci0000:e2/0000:e2:00.5/pci10000:00/10000:00:02.0/10000:01:00.0",
		  "0000:e2/00.5/02.0/00.0" },
		{ "../../../devices/rubbish", "" },
		{ "", "" },
	};
	char path[32];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		pci_path(rows[i].target, path, sizeof(path));
		CHECK_STR(path, rows[i].path);
	}
	pci_path(rows[0].target, path, 12);
	CHECK_STR(path, "");
}
