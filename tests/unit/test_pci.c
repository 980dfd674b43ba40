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
#include "backend/pci/reserved.h"
#include "fakepci.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"

static int observe(const char *address, struct facts *ret)
{
	struct roots roots = fake_roots();
	struct key key = fake_key(address);
	struct sysfs s;
	int rc;

	CHECK(!sysfs_open(&s, roots.sysfs, roots.dev, roots.proc, NULL));
	rc = pci_observe(&s, NULL, &key, ret);
	sysfs_close(&s);
	return rc;
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
	CHECK(!f.netdev_down);
	fake_attr("0000:3b:00.0", "net/eth0/flags", "0x1002\n");
	CHECK_EQ(observe("0000:3b:00.0", &f), 0);
	CHECK(f.netdev_down);
	fake_attr("0000:3b:00.0", "net/eth0/flags", "0x1003\n");
	CHECK_EQ(observe("0000:3b:00.0", &f), 0);
	CHECK(!f.netdev_down);
	test_file("dev/vfio/devices/vfio7", "");
	test_file("dev/vfio/41", "");
	CHECK_EQ(observe("0000:3b:00.0", &f), 0);
	CHECK_STR(f.nodes, "/dev/vfio/vfio /dev/vfio/41 /dev/vfio/devices/vfio7");
	test_file("dev/iommu", "");
	CHECK_EQ(observe("0000:3b:00.0", &f), 0);
	CHECK_STR(f.nodes, "/dev/vfio/vfio /dev/vfio/41 /dev/vfio/devices/vfio7 /dev/iommu");
}

/* Only a region that must stay mapped keeps a group from guests. */
DEFINE_TEST(pci_memory_that_the_firmware_reserves)
{
	static const char msi[] = "0x00000000fee00000 0x00000000feefffff msi\n";
	static const struct {
		const char *text;
		bool reserved, garbled;
	} rows[] = {
		{ "", false, false },
		{ msi, false, false },
		{ "0x0000000000000000 0x0000000000ffffff direct-relaxable\n", false, false },
		{ "0x0000000000000000 0x0000000000ffffff a_type_that_is_not_known_yet\n", false, false },
		{ "0x00000000791a0000 0x00000000791affff direct\n", true, false },
		{ "0x00000000791a0000 0x00000000791affff direct\n"
		  "0x00000000fee00000 0x00000000feefffff msi\n",
		  true, false },
		{ "0x00000000fee00000 0x00000000feefffff reserved\n"
		  "0x00000000791a0000 0x00000000791affff direct",
		  true, false },
		{ "direct\n", false, true },
		{ "0x1 0x2\ndirect\n", false, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool reserved;

		CHECK_EQ(reserved_parse(rows[i].text, &reserved), rows[i].garbled ? -EINVAL : 0);
		CHECK(rows[i].garbled || reserved == rows[i].reserved);
	}
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

#define DRIVE "0000:06:00.0"
#define AT_DRIVE "sys/bus/pci/devices/" DRIVE

/* ... which may come from a drive that lies: short, printable, and none if it tells nothing. */
DEFINE_TEST(pci_serial_that_a_driver_of_the_host_tells)
{
	static const struct {
		const char *text, *serial;
	} rows[] = {
		{ "S6S2-GUESTDISK      \n", "S6S2-GUESTDISK" },
		{ "  A B\n", "A B" },
		{ "a\"b\\c;d=e\033[m\n", "a?b?c?d?e?[m" },
		{ "\n", "" },
		{ "00000000000000000000\n", "" },
		{ "\001\377 \n", "" },
		{ "123456789012345678901234567890123456789012345\n",
		  "1234567890123456789012345678901234567890123" },
	};
	char big[4096];
	struct facts f;

	fake_machine();
	fake_add(&(struct fake){ DRIVE, "0x144d\n", "0xa80a\n", "0x010802\n", "nvme", 14 });
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		test_file(AT_DRIVE "/nvme/nvme1/serial", rows[i].text);
		CHECK_EQ(observe(DRIVE, &f), 0);
		CHECK_STR(f.host_serial, rows[i].serial);
	}
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	test_file(AT_DRIVE "/nvme/nvme1/serial", big);
	CHECK_EQ(observe(DRIVE, &f), 0);
	CHECK_STR(f.host_serial, "");

	/* Of a NIC only an address that no program has set. */
	test_file(AT_DRIVE "/net/eth1/address", "a0:36:9f:00:00:02\n");
	CHECK_EQ(observe(DRIVE, &f), 0);
	CHECK_STR(f.host_serial, "");
	test_file(AT_DRIVE "/net/eth1/addr_assign_type", "3\n");
	test_file(AT_DRIVE "/net/eth2/addr_assign_type", "0\n");
	test_file(AT_DRIVE "/net/eth2/address", "a0:36:9f:00:00:03\n");
	CHECK_EQ(observe(DRIVE, &f), 0);
	CHECK_STR(f.host_serial, "a0:36:9f:00:00:03");

	/* What is left there when the driver is not the host's tells nothing. */
	fake_remove(DRIVE);
	fake_add(&(struct fake){ DRIVE, "0x144d\n", "0xa80a\n", "0x010802\n", "vfio-pci", 14 });
	test_file(AT_DRIVE "/nvme/nvme1/serial", "S6S2-GUESTDISK\n");
	CHECK_EQ(observe(DRIVE, &f), 0);
	CHECK_STR(f.host_serial, "");
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

DEFINE_TEST(a_framebuffer_of_the_firmware_lies_in_its_display)
{
	static const struct {
		const char *text, *found;
	} rows[] = {
		{ "", "" },
		{ "00000000-00000000 : PCI Bus 0000:00\n"
		  "  00000000-00000000 : PCI Bus 0000:09\n"
		  "    00000000-00000000 : 0000:09:00.0\n"
		  "      00000000-00000000 : BOOTFB\n"
		  "    00000000-00000000 : 0000:09:00.1\n",
		  "BOOTFB" },
		{ "e0000000-efffffff : 0000:09:00.0\n"
		  "  e0000000-e02fffff : vfio-pci\n"
		  "f0000000-f1ffffff : 0000:09:00.0\n"
		  "  f0000000-f02fffff : simplefb\n"
		  "    f0000000-f02fffff : efifb",
		  "efifb" },
		{ "e0000000-efffffff : 0000:09:00.0\n"
		  "e0000000-efffffff : 0000:0a:00.0\n"
		  "  e0000000-e02fffff : BOOTFB\n",
		  "" },
		{ "e0000000-efffffff : 0000:09:00.0\n"
		  "  e0000000-e02fffff : nvidia\n"
		  "BOOTFB\n : \n",
		  "" },
	};
	char found[FRAMEBUFFER_NAME];
	struct facts f;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		framebuffer_in(rows[i].text, "0000:09:00.0", found);
		CHECK_STR(found, rows[i].found);
	}
	fake_machine();
	fake_add(&(struct fake){ "0000:09:00.0", "0x1a03\n", "0x2000\n", "0x030000\n", NULL, 14 });
	test_file("proc/iomem", rows[1].text);
	CHECK_EQ(observe("0000:09:00.0", &f), 0);
	CHECK_STR(f.framebuffer, "");
	fake_attr("0000:09:00.0", "boot_vga", "1\n");
	CHECK_EQ(observe("0000:09:00.0", &f), 0);
	CHECK_STR(f.framebuffer, "BOOTFB");
}

DEFINE_TEST(what_is_behind_vmd_goes_with_it)
{
	static const struct {
		const char *target, *behind;
	} rows[] = {
		{ "../../../devices/pci0000:00/0000:00:1c.4/0000:05:00.0", "" },
		{ "../../../devices/platform/40000000.pcie/pci0002:00/0002:00:00.0", "" },
		{ "../../../devices/pci0000:e2/0000:e2:00.5", "" },
		{ "../../../devices/pci0000:e2/0000:e2:00.5/pci10000:00/10000:00:02.0",
		  "0000:e2:00.5" },
		{ "../../../devices/pci0000:e2/0000:e2:00.5/pci10000:00/10000:00:02.0/10000:01:00.0",
		  "0000:e2:00.5" },
		{ "pci10000:00/10000:00:02.0", "" },
		{ "", "" },
	};
	struct key behind;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		pci_behind(rows[i].target, &behind);
		CHECK_STR(behind.bus ? behind.name : "", rows[i].behind);
	}
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
