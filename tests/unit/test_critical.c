// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "fakedisk.h"
#include "pcidevfs/critical.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"
#include "test.h"


/* ---- disks */

DEFINE_TEST(critical_nothing)
{
	put_disk(HBA "/block", "sda", 0);
	EXPECT_CRITICAL("", "");
}

DEFINE_TEST(critical_no_mount_table_is_an_error)
{
	struct out o = { 0 };

	put_disk(HBA "/block", "sda", 0);
	CHECK_EQ(host_critical(NULL, &o), -ENOENT);
	CHECK_STR(out_text(&o), "");
}

DEFINE_TEST(critical_own_mount_table_will_do)
{
	struct out o = { 0 };

	put_disk(HBA "/block", "sda", 0);
	host_file(MOUNT("8:0", "/"), "proc/self/mountinfo");
	CHECK_EQ(host_critical(NULL, &o), 0);
	CHECK_STR(out_text(&o), SLOT "disk sda is mounted on /\n");
	out_free(&o);
}

DEFINE_TEST(critical_partition_and_the_root_first)
{
	put_disk(HBA "/nvme/nvme0", "nvme0n1", 0);
	put_partition(HBA "/nvme/nvme0", "nvme0n1", "nvme0n1p1", 1);
	put_partition(HBA "/nvme/nvme0", "nvme0n1", "nvme0n1p2", 2);
	EXPECT_CRITICAL(MOUNT("8:1", "/boot/efi") MOUNT("8:2", "/"),
			SLOT "disk nvme0n1p2 is mounted on /\n");
	EXPECT_CRITICAL(MOUNT("8:1", "/boot/efi") MOUNT("8:2", "/srv"),
			SLOT "disk nvme0n1p1 is mounted on /boot/efi\n");
}

DEFINE_TEST(critical_lvm_on_crypt_on_partition)
{
	put_disk(HBA "/block", "sda", 0);
	put_partition(HBA "/block", "sda", "sda3", 3);
	put_disk(VIRTUAL, "dm-0", 100);
	put_disk(VIRTUAL, "dm-1", 101);
	stack("dm-0", "sda3");
	stack("dm-1", "dm-0");
	EXPECT_CRITICAL(MOUNT("8:101", "/"),
			SLOT "disk sda3 is mounted on / through dm-0 and dm-1\n");
	EXPECT_CRITICAL("", SLOT "disk sda3 is held by dm-0\n");
}

DEFINE_TEST(critical_raid1_behind_two_adapters)
{
	put_disk(HBA "/ata1/host0/target0:0:0/0:0:0:0/block", "sda", 0);
	put_disk(HBA2 "/ata9/host8/target8:0:0/8:0:0:0/block", "sdb", 16);
	put_disk(VIRTUAL, "md0", 100);
	put_partition(VIRTUAL, "md0", "md0p1", 101);
	stack("md0", "sda");
	stack("md0", "sdb");
	EXPECT_CRITICAL(MOUNT("8:101", "/data"),
			SLOT "disk sda is mounted on /data through md0 and md0p1\n" SLOT2
			     "disk sdb is mounted on /data through md0 and md0p1\n");
	EXPECT_ONLY("0000:02:00.0 0000:03:00.0", MOUNT("8:101", "/data"),
		    SLOT2 "disk sdb is mounted on /data through md0 and md0p1\n");
	EXPECT_ONLY("0000:03:00.0", MOUNT("8:101", "/data"), "");
}

DEFINE_TEST(critical_class_of_those_asked_about)
{
	host_file("0x060100\n", "sys/bus/pci/devices/0000:00:1f.0/class");
	host_file("0x0c0500\n", "sys/bus/pci/devices/0000:00:1f.4/class");
	EXPECT_ONLY("0000:00:1f.4", "", "0000:00:1f.4 it is the SMBus controller\n");
	EXPECT_ONLY("0000:00:1f.5 0000:00:1f.0", "", "0000:00:1f.0 it is the ISA bridge\n");
}

DEFINE_TEST(critical_bcache)
{
	put_disk(HBA "/block", "sda", 0);
	put_disk(HBA2 "/nvme/nvme0", "nvme0n1", 16);
	put_disk(VIRTUAL, "bcache0", 100);
	stack("bcache0", "sda");
	stack("bcache0", "nvme0n1");
	EXPECT_CRITICAL(MOUNT("8:100", "/"), SLOT "disk sda is mounted on / through bcache0\n" SLOT2
						  "disk nvme0n1 is mounted on / through bcache0\n");
}

DEFINE_TEST(critical_held_disks)
{
	put_disk(HBA "/block", "sda", 0);
	put_disk(VIRTUAL, "dm-2", 100);
	put_disk(VIRTUAL, "dm-10", 101);
	stack("dm-2", "sda");
	stack("dm-10", "sda");
	EXPECT_CRITICAL("", SLOT "disk sda is held by dm-10\n");
}

DEFINE_TEST(critical_swap_partition_and_zram)
{
	put_disk(HBA "/block", "sda", 0);
	put_partition(HBA "/block", "sda", "sda2", 2);
	put_disk(VIRTUAL, "zram0", 100);
	host_file(
		"Filename Type Size Used Priority\n/dev/zram0 partition 1 0 100\n/dev/sda2 partition 1 0 -2\n",
		"proc/swaps");
	EXPECT_CRITICAL("", SLOT "disk sda2 holds swap\n");
}

DEFINE_TEST(critical_swap_on_a_mapped_device)
{
	put_disk(HBA "/block", "sda", 0);
	put_disk(VIRTUAL, "dm-0", 100);
	host_file("vg-swap\n", "sys/class/block/dm-0/dm/name");
	stack("dm-0", "sda");
	host_file("Filename Type\n/dev/mapper/vg-swap partition 1 0 -2\n", "proc/swaps");
	EXPECT_CRITICAL("", SLOT "disk sda holds swap through dm-0\n");
}

DEFINE_TEST(critical_swap_file_in_the_nearest_mount)
{
	put_disk(HBA "/block", "sda", 0);
	put_disk(HBA2 "/block", "sdb", 16);
	host_file("Filename Type\n/var/lib\\040x/swap file 1 0 -2\n", "proc/swaps");
	EXPECT_CRITICAL(MOUNT("0:30", "/") MOUNT("8:0", "/var/lib\\040")
				MOUNT("8:16", "/var/lib\\040x"),
			SLOT "disk sda is mounted on /var/lib \n" SLOT2
			     "disk sdb is mounted on /var/lib x\n");
	EXPECT_CRITICAL("", "");
}

DEFINE_TEST(critical_btrfs_by_its_source)
{
	put_disk(HBA "/block", "sda", 0);
	host_link("../../sda", "dev/disk/by-uuid/0815");
	EXPECT_CRITICAL("36 35 0:31 /@ / rw - btrfs /dev/disk/by-uuid/0815 rw\n",
			SLOT "disk sda is mounted on /\n");
}

DEFINE_TEST(critical_swap_file_on_btrfs)
{
	put_disk(HBA "/block", "sda", 0);
	host_file("Filename Type\n/swap/file file 1 0 -2\n", "proc/swaps");
	EXPECT_CRITICAL("36 35 0:31 /@ /swap rw - btrfs /dev/sda rw\n",
			SLOT "disk sda is mounted on /swap\n");
}

DEFINE_TEST(critical_several_devices_in_one_source)
{
	put_disk(HBA "/block", "sda", 0);
	put_disk(HBA2 "/block", "cciss!c0d0", 16);
	EXPECT_CRITICAL("36 35 0:31 / /srv rw - bcachefs /dev/sda:/dev/cciss/c0d0 rw\n",
			SLOT "disk sda is mounted on /srv\n" SLOT2
			     "disk cciss!c0d0 is mounted on /srv\n");
}

/* Any user may mount these, and writes there what he likes: fusermount3 -o fsname=/dev/sda. */
DEFINE_TEST(critical_source_of_what_users_mount_is_not_believed)
{
	static const char *const types[] = { "fuse", "fuse.sshfs", "fuse.btrfs", "fuseblk",
					     "nfs",  "nfs4",	   "9p",	 "tmpfs",
					     "cifs", "ext4",	   "btrfs2" };
	char line[128];

	put_disk(HBA "/block", "sda", 0);
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		snprintf(line, sizeof(line), "36 35 0:31 / /home/eve/m rw - %s /dev/sda rw\n",
			 types[i]);
		EXPECT_CRITICAL(line, "");
	}
	/* Their number is the kernel's own word. */
	EXPECT_CRITICAL("36 35 8:0 / /mnt rw - fuseblk /dev/x rw\n",
			SLOT "disk sda is mounted on /mnt\n");
	EXPECT_CRITICAL("36 35 0:31 / / rw - overlay /dev/sda rw\n",
			SLOT "disk sda is mounted on /\n");
	/* With no source at all the options stand where it would be. */
	EXPECT_CRITICAL("36 35 0:31 / /home/eve/m rw - fuse  /dev/sda\n", "");
}

DEFINE_TEST(critical_loop_over_a_disk)
{
	put_disk(HBA "/block", "sda", 0);
	put_disk(VIRTUAL, "loop0", 100);
	host_file("/dev/sda\n", "sys/class/block/loop0/loop/backing_file");
	EXPECT_CRITICAL(MOUNT("8:100", "/"), SLOT "disk sda is mounted on / through loop0\n");
	EXPECT_CRITICAL("", SLOT "disk sda is held by loop0\n");
}

DEFINE_TEST(critical_nvme_multipath_on_two_ports)
{
	put_disk("virtual/nvme-subsystem/nvme-subsys0", "nvme0n1", 0);
	put_partition("virtual/nvme-subsystem/nvme-subsys0", "nvme0n1", "nvme0n1p1", 1);
	host_link("../../../" HBA "/nvme/nvme0",
		  "sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0");
	host_link("../../../" HBA2 "/nvme/nvme1",
		  "sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme1");
	EXPECT_CRITICAL(MOUNT("8:1", "/"), SLOT "disk nvme0n1p1 is mounted on /\n" SLOT2
						"disk nvme0n1p1 is mounted on /\n");
}

DEFINE_TEST(critical_virtio_and_usb)
{
	put_disk("pci0000:00/0000:00:05.0/virtio2/block", "vda", 0);
	put_disk("pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host6/target6:0:0/6:0:0:0/block", "sdc",
		 32);
	EXPECT_CRITICAL(MOUNT("8:0", "/") MOUNT("8:32", "/media/stick"),
			"0000:00:05.0 disk vda is mounted on /\n"
			"0000:00:14.0 disk sdc is mounted on /media/stick\n");
}

#define XHCI "pci0000:00/0000:00:14.0"

/* A directory of the path that is a device of a bus without addresses: a link tells which. */
static void put_part(const char *subsystem, const char *dir)
{
	char target[64];

	snprintf(target, sizeof(target), "../../../bus/%s", subsystem);
	host_link(target, "sys/devices/%s/subsystem", dir);
}

/* Hubs lead there, as bridges do; what only has such a name is another bus's. */
DEFINE_TEST(critical_ends_at_devices_of_any_bus)
{
	put_disk(XHCI "/usb2/2-1/2-1.3/2-1.3:1.0/host6/target6:0:0/6:0:0:0/block", "sda", 0);
	put_part("usb", XHCI "/usb2");
	put_part("usb", XHCI "/usb2/2-1");
	put_part("usb", XHCI "/usb2/2-1/2-1.3");
	put_part("usb", XHCI "/usb2/2-1/2-1.3/2-1.3:1.0");
	put_disk("platform/vhci_hcd.0/usb3/3-4/3-4:1.0/host7/target7:0:0/7:0:0:0/block", "sdb", 16);
	put_part("usb", "platform/vhci_hcd.0/usb3/3-4");
	put_disk(HBA "/domain1/1-0/1-1/1-1.0/block", "sdc", 32);
	put_part("thunderbolt", HBA "/domain1/1-0/1-1");
	put_part("thunderbolt", HBA "/domain1/1-0/1-1/1-1.0");
	EXPECT_CRITICAL(MOUNT("8:0", "/") MOUNT("8:16", "/srv") MOUNT("8:32", "/home"),
			"0000:00:14.0 disk sda is mounted on /\n" SLOT
			"disk sdc is mounted on /home\nusb/2-1.3 disk sda is mounted on /\n"
			"usb/3-4 disk sdb is mounted on /srv\n");
	EXPECT_ONLY("usb/2-1.3", MOUNT("8:0", "/"), "usb/2-1.3 disk sda is mounted on /\n");
}

/* Whatever else is asked about in the same question, and wherever it stands there. */
DEFINE_TEST(critical_of_functions_asked_about_with_others)
{
	static const char mdev[] = "mdev/83b8f4f2-509f-382f-3c1e-e6bfe0fa1001";
	char only[128];

	put_disk(HBA "/block", "sda", 0);
	host_file("0x060100\n", "sys/bus/pci/devices/0000:00:1f.0/class");
	EXPECT_ONLY("usb/2-1 0000:00:1f.0 0000:01:00.0", MOUNT("8:0", "/"),
		    "0000:00:1f.0 it is the ISA bridge\n" SLOT "disk sda is mounted on /\n");
	snprintf(only, sizeof(only), "0000:00:1f.0 %s 0000:01:00.0", mdev);
	EXPECT_ONLY(only, MOUNT("8:0", "/"),
		    "0000:00:1f.0 it is the ISA bridge\n" SLOT "disk sda is mounted on /\n");
	EXPECT_ONLY("no-id 0000:01:00.0", MOUNT("8:0", "/"), SLOT "disk sda is mounted on /\n");
	EXPECT_ONLY("usb/2-1", MOUNT("8:0", "/"), "");
}

DEFINE_TEST(critical_disk_behind_vmd)
{
	put_disk("pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:06.0/10000:e1:00.0/nvme/nvme0",
		 "nvme0n1", 0);
	EXPECT_CRITICAL(MOUNT("8:0", "/"), "0000:00:0e.0 disk nvme0n1 is mounted on /\n"
					   "10000:e1:00.0 disk nvme0n1 is mounted on /\n");
}

DEFINE_TEST(critical_cycle_ends)
{
	put_disk(HBA "/block", "sda", 0);
	put_disk(VIRTUAL, "dm-0", 100);
	put_disk(VIRTUAL, "dm-1", 101);
	stack("dm-0", "dm-1");
	stack("dm-1", "dm-0");
	stack("dm-1", "sda");
	stack("dm-0", "dm-0");
	EXPECT_CRITICAL(MOUNT("8:100", "/"),
			SLOT "disk sda is mounted on / through dm-1 and dm-0\n");
}

DEFINE_TEST(critical_deep_stack_is_bounded)
{
	char name[16], lower[16] = "sda";
	struct out o = { 0 };

	put_disk(HBA "/block", "sda", 0);
	for (unsigned int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "dm-%u", i);
		put_disk(VIRTUAL, name, 100 + i);
		stack(name, lower);
		STR_COPY(lower, name);
	}
	/* what is too deep to be followed is still seen as held */
	host_file(MOUNT("8:299", "/"), "proc/1/mountinfo");
	CHECK_EQ(host_critical(NULL, &o), 0);
	CHECK_STR(out_text(&o), SLOT "disk sda is held by dm-0\n");
	out_free(&o);
}

DEFINE_SLOW_TEST(critical_thousands_of_disks_and_mounts, 300)
{
	struct out mounts = { 0 };
	char where[128], name[16];

	for (unsigned int i = 0; i < 2000; i++) {
		snprintf(where, sizeof(where), "pci0000:00/%04x:00:00.0/block", i);
		snprintf(name, sizeof(name), "sd%u", i);
		put_disk(where, name, i);
		for (int j = 0; j < 5; j++)
			out_printf(&mounts, "1 1 8:%u / /m%u.%d rw - ext4 /dev/x rw\n", i, i, j);
	}
	host_file(out_text(&mounts), "proc/1/mountinfo");
	out_free(&mounts);
	CHECK_EQ(host_critical(NULL, &mounts), 0);
	CHECK_IN(out_text(&mounts), "07cf:00:00.0 disk sd1999 is mounted on /m1999.0\n");
	out_free(&mounts);
}

DEFINE_TEST(critical_names_are_harmless)
{
	put_disk(HBA "/block", "sda", 0);
	EXPECT_CRITICAL(MOUNT("8:0", "/a\\012\\033b\\000c\\134"),
			SLOT "disk sda is mounted on /a??b?c\\\n");
	EXPECT_CRITICAL(MOUNT("8:0", "/\302\233\342\200\256\303"),
			SLOT "disk sda is mounted on /??????\n");
	EXPECT_CRITICAL(
		MOUNT("8:0",
		      "/0123456789012345678901234567890123456789012345678901234567890123456789"
		      "0123456789012345678901234567890123456789"),
		SLOT
		"disk sda is mounted on /012345678901234567890123456789012345678901234567890123"
		"45678901234567890123456789012345678901...\n");
}

DEFINE_TEST(critical_garbage)
{
	put_disk(HBA "/block", "sda", 0);
	host_file("\xff\xfe:\n", "sys/class/block/sda/dev");
	host_file("not a link", "sys/class/block/readme");
	host_file("not a link", "sys/class/net/bonding_masters");
	host_file("\x01\x02", "sys/bus/pci/devices/0000:01:00.0/class");
	host_file("\x01\x02 \n\n/\n/ x\n", "proc/swaps");
	host_file("x\ny 0 0 0\n\xff\xff\n", "proc/1/net/route");
	host_file("-\n", "proc/1/net/if_inet6");
	host_file(") E (\n(((\n", "proc/consoles");
	EXPECT_CRITICAL(
		" - \n- - -\n1 2 : 4 5 - 6 7\n1 2 99999999999999999999:0 / / - x /dev/../dev/sda\n"
		"1 2 3:4 / /p - x /dev/../../etc\n",
		SLOT "its class cannot be read, so it may be what the host runs on\n");
}

/* A real block device that somebody has opened exclusively; loop devices need no medium. */
DEFINE_TEST(critical_open_exclusively)
{
	_close_ int fd = -1;
	char node[PATH_MAX];

	host_file("", "dev/sda"); /* no block device: never opened */
	put_disk(HBA "/block", "sda", 0);
	put_disk(HBA2 "/block", "loop", 7);
	host_file("7:7\n", "sys/class/block/loop/dev");
	snprintf(node, sizeof(node), "%s/dev/loop", test_dir());
	if (mknod(node, S_IFBLK | 0600, makedev(7, 7)))
		SKIP("no block device can be made here: %s", strerror(errno));
	EXPECT_CRITICAL("", "");
	fd = open(node, O_RDONLY | O_EXCL | O_CLOEXEC);
	if (fd < 0)
		SKIP("loop7 cannot be opened: %s", strerror(errno));
	EXPECT_CRITICAL("", SLOT2 "disk loop is open exclusively\n");
	host_file("7:8\n", "sys/class/block/loop/dev"); /* the node is another device's */
	EXPECT_CRITICAL("", "");
}

/* ---- consoles and functions */

DEFINE_TEST(critical_functions)
{
	host_file("0x060100\n", "sys/bus/pci/devices/0000:00:1f.0/class");
	host_file("0x0c0500\n", "sys/bus/pci/devices/0000:00:1f.4/class");
	host_file("0x030000\n", "sys/bus/pci/devices/0000:08:00.0/class");
	host_file("0\n", "sys/bus/pci/devices/0000:08:00.0/boot_vga");
	host_file("0x030000\n", "sys/bus/pci/devices/0000:09:00.0/class");
	host_file("1\n", "sys/bus/pci/devices/0000:09:00.0/boot_vga");
	host_file("0x060000\n", "sys/bus/pci/devices/0000:00:00.0/class");
	host_file("0x060100\n", "sys/bus/pci/devices/rubbish/class");
	EXPECT_CRITICAL("", "0000:00:1f.0 it is the ISA bridge\n"
			    "0000:00:1f.4 it is the SMBus controller\n"
			    "0000:09:00.0 it is the boot console's display\n");
}

/* Rather a guard too many; what is not there needs none. */
DEFINE_TEST(critical_functions_that_cannot_be_told)
{
	const char *unknown = SLOT "its class cannot be read, so it may be what the host runs on\n";

	host_file("\n", "sys/bus/pci/devices/0000:01:00.0/class");
	EXPECT_CRITICAL("", unknown);
	EXPECT_ONLY("0000:01:00.0 0000:09:00.0", "", unknown);
	host_file("0x1000000\n", "sys/bus/pci/devices/0000:01:00.0/class");
	EXPECT_CRITICAL("", unknown);
	host_file("0x0300000000000000000000000000000000000000000000000000000000000000000000000\n",
		  "sys/bus/pci/devices/0000:01:00.0/class");
	EXPECT_CRITICAL("", unknown);
	host_file("0x030000\n", "sys/bus/pci/devices/0000:01:00.0/class");
	EXPECT_CRITICAL("", "");
	host_file("rubbish\n", "sys/bus/pci/devices/0000:01:00.0/boot_vga");
	EXPECT_CRITICAL("", SLOT "it is the boot console's display\n");
	host_file("", "sys/bus/pci/devices/0000:02:00.0/vendor");
	EXPECT_CRITICAL("", SLOT "it is the boot console's display\n" SLOT2
				 "its class cannot be read, so it may be what the host runs on\n");
}

DEFINE_TEST(critical_serial_console)
{
	host_class("tty", HBA "/tty", "ttyS4");
	host_class("tty", HBA2 "/tty", "ttyS5");
	host_file("ttyS4                -W- (EC   p  )    4:68\nttyS5 -W- (  p  )    4:69\n"
		  "../../x -W- (E) 1:2\n",
		  "proc/consoles");
	EXPECT_CRITICAL("", SLOT "it carries the boot console ttyS4\n");
}

DEFINE_TEST(critical_weightiest_reason_wins)
{
	put_disk(HBA "/block", "sda", 0);
	put_disk(VIRTUAL, "dm-0", 100);
	stack("dm-0", "sda");
	host_file("0x060100\n", "sys/bus/pci/devices/0000:01:00.0/class");
	EXPECT_CRITICAL("", SLOT "disk sda is held by dm-0\n");
	EXPECT_CRITICAL(MOUNT("8:100", "/mnt"), SLOT "disk sda is mounted on /mnt through dm-0\n");
	EXPECT_CRITICAL(MOUNT("8:100", "/mnt") MOUNT("8:100", "/"),
			SLOT "disk sda is mounted on / through dm-0\n");
}
