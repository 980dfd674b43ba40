// SPDX-License-Identifier: GPL-2.0-or-later
/* The names that the kernel has for interfaces, disks and cards of a function. */
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fakepci.h"
#include "pcidevfs/facts.h"
#include "pcidevfs/key.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"

static char at[] = "0000:3b:00.0";

#define AT "0000:3b:00.0"
#define DIR "sys/bus/pci/devices/" AT "/"

static struct facts observe(void)
{
	struct roots roots = fake_roots();
	struct facts f;
	struct key key = fake_key(at);
	struct sysfs s;

	CHECK(!sysfs_open(&s, roots.sysfs, roots.dev, roots.proc, NULL));
	CHECK_EQ(pci_observe(&s, NULL, &key, &f), 0);
	sysfs_close(&s);
	return f;
}

static void begin(void)
{
	fake_machine();
	fake_add(&(struct fake){ AT, "0x10de\n", "0x25b6\n", "0x030200\n", "nvidia", 41 });
}

DEFINE_TEST(called_as_each_subsystem_has_it)
{
	static const struct {
		const char *file, *netdev, *disk, *drm;
	} rows[] = {
		{ "net/enp2s0f1/address", "enp2s0f1", "", "" },
		{ "virtio0/net/eth0/address", "eth0", "", "" },
		{ "virtio2/block/vda/size", "", "vda", "" },
		{ "ata1/host0/target0:0:0/0:0:0:0/block/sda/size", "", "sda", "" },
		{ "host6/target6:0:0/6:0:0:0/block/sdc/sdc1/size", "", "sdc", "" },
		{ "host0/port-0:0/expander-0:0/port-0:0:1/end_device-0:0:1/target0:0:1/0:0:1:0/block/"
		  "sdaa/size",
		  "", "sdaa", "" },
		{ "nvme/nvme0/nvme0n1/nvme0n1p1/size", "", "nvme0n1", "" },
		{ "nvme/nvme0/nvme0c3n1/size", "", "nvme0n1", "" },
		{ "mmc_host/mmc0/mmc0:0001/block/mmcblk0/size", "", "mmcblk0", "" },
		{ "drm/card0/card0-VGA-1/status", "", "", "card0" },
		{ "drm/renderD128/dev", "", "", "" },
		{ "1-1.4.2:1.0/net/usb0/address", "usb0", "", "" },
		/* on the ports of a USB controller, and behind as many hubs as there can be */
		{ "usb1/1-1/1-1:1.0/net/usb0/address", "usb0", "", "" },
		{ "usb1/1-1/1-1.1/1-1.1.1/1-1.1.1.1/1-1.1.1.1.1/1-1.1.1.1.1.1/1-1.1.1.1.1.1:1.0/host6/"
		  "target6:0:0/6:0:0:0/block/sdd/size",
		  "", "sdd", "" },
		/* a device of its own, an index of another class, and none of its disks */
		{ "0000:3c:00.0/net/eth7/address", "", "", "" },
		{ "host6/scsi_host/host6/block/sdx/size", "", "", "" },
		{ "nvme/nvme0/ng0n1/dev", "", "", "" },
	};

	fake_machine();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char path[256];
		struct facts f;

		snprintf(at, sizeof(at), "0000:3b:%02zx.0", i);
		fake_add(&(struct fake){ at, "0x10de\n", "0x25b6\n", "0x030200\n", "nvidia", 41 });
		snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/%s", at, rows[i].file);
		test_file(path, "");
		f = observe();
		CHECK_STR(f.netdev, rows[i].netdev);
		CHECK_STR(f.disk, rows[i].disk);
		CHECK_STR(f.drm, rows[i].drm);
	}
}

DEFINE_TEST(called_by_the_first_of_several)
{
	static const char *const names[] = { "sdb", "sdaa", "sda", "sdc" };
	static const char *const reads[] = { "sdb", "sdb +1", "sda +2", "sda +3" };
	struct facts f;

	begin();
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char path[160];

		snprintf(path, sizeof(path),
			 DIR "host0/target0:0:%zu/0:0:%zu:0/block/%s/size", i, i, names[i]);
		test_file(path, "");
		f = observe();
		CHECK_STR(f.disk, reads[i]);
	}
	CHECK_STR(f.netdev, "");
}

/* More than anybody has, deeper than anything is, and names that no driver should give. */
DEFINE_TEST(called_within_bounds)
{
	char path[512] = DIR;
	struct facts f;

	begin();
	for (int i = 0; i < 40; i++)
		strcat(path, "host1/");
	strcat(path, "block/sda/size");
	test_file(path, "");
	f = observe();
	CHECK_STR(f.disk, "");
	for (int i = 0; i < 1000; i++) {
		snprintf(path, sizeof(path), DIR "host2/target2:0:%d/2:0:%d:0/block/sd%d/size", i, i,
			 i);
		test_file(path, "");
	}
	f = observe();
	CHECK(!strncmp(f.disk, "sd", 2) && strstr(f.disk, " +"));
	test_file(DIR "net/a\033[1m\nb\"\302\233/address", "");
	test_file(DIR "net/a-name-of-which-no-kernel-has-heard-since-it-is-far-too-long/address",
		  "");
	f = observe();
	CHECK_STR(f.netdev, "a?[1m?b\"?? +1");
}

/* A directory without interfaces is left as long as they are in another namespace. */
DEFINE_TEST(called_knows_that_its_interfaces_are_elsewhere)
{
	begin();
	CHECK(!observe().net_elsewhere);
	fake_attr(at, "net/enp2s0f1/address", "");
	CHECK(!observe().net_elsewhere);
	CHECK(!chdir(test_dir()));
	CHECK(!unlink(DIR "net/enp2s0f1/address") && !rmdir(DIR "net/enp2s0f1"));
	CHECK(observe().net_elsewhere);
	CHECK_STR(observe().netdev, "");
}
