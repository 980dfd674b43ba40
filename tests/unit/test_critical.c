// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "pcidevfs/critical.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"

#define HBA "pci0000:00/0000:00:01.0/0000:01:00.0"
#define HBA2 "pci0000:00/0000:00:02.0/0000:02:00.0"
#define NIC1 "pci0000:00/0000:00:03.0/0000:03:00.0"
#define NIC2 "pci0000:00/0000:00:03.0/0000:03:00.1"
#define SLOT "0000:01:00.0 "
#define SLOT2 "0000:02:00.0 "

/* ---- a machine made of files */

__attribute__((format(printf, 2, 3))) static void put(const char *text, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	test_file(path, text);
}

__attribute__((format(printf, 2, 3))) static void put_link(const char *target, const char *fmt, ...)
{
	char path[PATH_MAX], whole[PATH_MAX + 64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	snprintf(whole, sizeof(whole), "%s.dir", path);
	test_file(whole, ""); /* makes the directories */
	snprintf(whole, sizeof(whole), "%s/%s.dir", test_dir(), path);
	CHECK_EQ(unlink(whole), 0);
	snprintf(whole, sizeof(whole), "%s/%s", test_dir(), path);
	CHECK_EQ(symlink(target, whole), 0);
}

/* A device of a class with its directory below sys/devices. */
static void put_class(const char *class, const char *where, const char *name)
{
	char target[PATH_MAX];

	snprintf(target, sizeof(target), "../../devices/%s/%s", where, name);
	put("", "sys/devices/%s/%s/uevent", where, name);
	put_link(target, "sys/class/%s/%s", class, name);
}

static void put_disk(const char *where, const char *name, unsigned int minor)
{
	char dev[32];

	put_class("block", where, name);
	snprintf(dev, sizeof(dev), "8:%u\n", minor);
	put(dev, "sys/devices/%s/%s/dev", where, name);
}

static void put_partition(const char *where, const char *disk, const char *name, unsigned int minor)
{
	char dir[512];

	snprintf(dir, sizeof(dir), "%s/%s", where, disk);
	put_disk(dir, name, minor);
	put("1\n", "sys/devices/%s/%s/partition", dir, name);
}

/* upper is made of lower; both must be there. */
static void stack(const char *upper, const char *lower)
{
	put_link("../x", "sys/class/block/%s/slaves/%s", upper, lower);
	put_link("../x", "sys/class/block/%s/holders/%s", lower, upper);
}

#define VIRTUAL "virtual/block"
#define MOUNT(dev, point) "36 35 " dev " / " point " rw,relatime shared:1 - ext4 /dev/x rw\n"

static void put_nic(const char *where, const char *name)
{
	char dir[512];

	snprintf(dir, sizeof(dir), "%s/net", where);
	put_class("net", dir, name);
	put("0x1003\n", "sys/class/net/%s/flags", name);
}

static void nic_stack(const char *upper, const char *lower)
{
	put_link("../x", "sys/class/net/%s/lower_%s", upper, lower);
	put_link("../x", "sys/class/net/%s/upper_%s", lower, upper);
}

static void nic_master(const char *master, const char *nic)
{
	char target[64];

	nic_stack(master, nic);
	snprintf(target, sizeof(target), "../%s", master);
	put_link(target, "sys/class/net/%s/master", nic);
}

#define ROUTES                                                                                     \
	"Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
#define DEFAULT_ROUTE(nic) nic "\t00000000\t0101A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"

static void open_roots(struct sysfs *s)
{
	static const char *const names[ROOT_COUNT] = { "sys", "dev", "proc" };
	static char path[ROOT_COUNT][PATH_MAX];

	for (int i = 0; i < ROOT_COUNT; i++) {
		put("", "%s/.there", names[i]);
		snprintf(path[i], sizeof(path[i]), "%s/%s", test_dir(), names[i]);
		s->path[i] = path[i];
		s->fd[i] = open(path[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
		CHECK(s->fd[i] >= 0);
	}
}

static int run(struct out *o)
{
	struct sysfs s;
	int rc;

	open_roots(&s);
	rc = critical_scan(&s, o);
	sysfs_close(&s);
	return rc;
}

static void expect_from(const char *mounts, const char *lines, const char *file, int line)
{
	struct out o = { 0 };

	put(mounts, "proc/1/mountinfo");
	test_check_eq(file, line, "critical_scan()", run(&o), 0);
	test_check_str(file, line, "what is critical", out_text(&o), lines);
	out_free(&o);
}

#define EXPECT(mounts, lines) expect_from(mounts, lines, __FILE__, __LINE__)

/* ---- disks */

DEFINE_TEST(critical_nothing)
{
	put_disk(HBA "/block", "sda", 0);
	EXPECT("", "");
}

DEFINE_TEST(critical_no_mount_table_is_an_error)
{
	struct out o = { 0 };

	put_disk(HBA "/block", "sda", 0);
	CHECK_EQ(run(&o), -ENOENT);
	CHECK_STR(out_text(&o), "");
}

DEFINE_TEST(critical_own_mount_table_will_do)
{
	struct out o = { 0 };

	put_disk(HBA "/block", "sda", 0);
	put(MOUNT("8:0", "/"), "proc/self/mountinfo");
	CHECK_EQ(run(&o), 0);
	CHECK_STR(out_text(&o), SLOT "disk sda is mounted on /\n");
	out_free(&o);
}

DEFINE_TEST(critical_partition_and_the_root_first)
{
	put_disk(HBA "/nvme/nvme0", "nvme0n1", 0);
	put_partition(HBA "/nvme/nvme0", "nvme0n1", "nvme0n1p1", 1);
	put_partition(HBA "/nvme/nvme0", "nvme0n1", "nvme0n1p2", 2);
	EXPECT(MOUNT("8:1", "/boot/efi") MOUNT("8:2", "/"),
	       SLOT "disk nvme0n1p2 is mounted on /\n");
	EXPECT(MOUNT("8:1", "/boot/efi") MOUNT("8:2", "/srv"),
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
	EXPECT(MOUNT("8:101", "/"), SLOT "disk sda3 is mounted on / through dm-0 and dm-1\n");
	EXPECT("", SLOT "disk sda3 is held by dm-0\n");
}

DEFINE_TEST(critical_raid1_behind_two_adapters)
{
	put_disk(HBA "/ata1/host0/target0:0:0/0:0:0:0/block", "sda", 0);
	put_disk(HBA2 "/ata9/host8/target8:0:0/8:0:0:0/block", "sdb", 16);
	put_disk(VIRTUAL, "md0", 100);
	put_partition(VIRTUAL, "md0", "md0p1", 101);
	stack("md0", "sda");
	stack("md0", "sdb");
	EXPECT(MOUNT("8:101", "/data"),
	       SLOT "disk sda is mounted on /data through md0 and md0p1\n" SLOT2
		    "disk sdb is mounted on /data through md0 and md0p1\n");
}

DEFINE_TEST(critical_bcache)
{
	put_disk(HBA "/block", "sda", 0);
	put_disk(HBA2 "/nvme/nvme0", "nvme0n1", 16);
	put_disk(VIRTUAL, "bcache0", 100);
	stack("bcache0", "sda");
	stack("bcache0", "nvme0n1");
	EXPECT(MOUNT("8:100", "/"), SLOT "disk sda is mounted on / through bcache0\n" SLOT2
					 "disk nvme0n1 is mounted on / through bcache0\n");
}

DEFINE_TEST(critical_held_disks)
{
	put_disk(HBA "/block", "sda", 0);
	put_disk(VIRTUAL, "dm-2", 100);
	put_disk(VIRTUAL, "dm-10", 101);
	stack("dm-2", "sda");
	stack("dm-10", "sda");
	EXPECT("", SLOT "disk sda is held by dm-10\n");
}

DEFINE_TEST(critical_swap_partition_and_zram)
{
	put_disk(HBA "/block", "sda", 0);
	put_partition(HBA "/block", "sda", "sda2", 2);
	put_disk(VIRTUAL, "zram0", 100);
	put("Filename Type Size Used Priority\n/dev/zram0 partition 1 0 100\n/dev/sda2 partition 1 0 -2\n",
	    "proc/swaps");
	EXPECT("", SLOT "disk sda2 holds swap\n");
}

DEFINE_TEST(critical_swap_on_a_mapped_device)
{
	put_disk(HBA "/block", "sda", 0);
	put_disk(VIRTUAL, "dm-0", 100);
	put("vg-swap\n", "sys/class/block/dm-0/dm/name");
	stack("dm-0", "sda");
	put("Filename Type\n/dev/mapper/vg-swap partition 1 0 -2\n", "proc/swaps");
	EXPECT("", SLOT "disk sda holds swap through dm-0\n");
}

DEFINE_TEST(critical_swap_file_in_the_nearest_mount)
{
	put_disk(HBA "/block", "sda", 0);
	put_disk(HBA2 "/block", "sdb", 16);
	put("Filename Type\n/var/lib\\040x/swap file 1 0 -2\n", "proc/swaps");
	EXPECT(MOUNT("0:30", "/") MOUNT("8:0", "/var/lib\\040") MOUNT("8:16", "/var/lib\\040x"),
	       SLOT "disk sda is mounted on /var/lib \n" SLOT2
		    "disk sdb is mounted on /var/lib x\n");
	EXPECT("", "");
}

DEFINE_TEST(critical_btrfs_by_its_source)
{
	put_disk(HBA "/block", "sda", 0);
	put_link("../../sda", "dev/disk/by-uuid/0815");
	EXPECT("36 35 0:31 /@ / rw - btrfs /dev/disk/by-uuid/0815 rw\n",
	       SLOT "disk sda is mounted on /\n");
}

DEFINE_TEST(critical_swap_file_on_btrfs)
{
	put_disk(HBA "/block", "sda", 0);
	put("Filename Type\n/swap/file file 1 0 -2\n", "proc/swaps");
	EXPECT("36 35 0:31 /@ /swap rw - btrfs /dev/sda rw\n",
	       SLOT "disk sda is mounted on /swap\n");
}

DEFINE_TEST(critical_several_devices_in_one_source)
{
	put_disk(HBA "/block", "sda", 0);
	put_disk(HBA2 "/block", "cciss!c0d0", 16);
	EXPECT("36 35 0:31 / /srv rw - bcachefs /dev/sda:/dev/cciss/c0d0 rw\n",
	       SLOT "disk sda is mounted on /srv\n" SLOT2 "disk cciss!c0d0 is mounted on /srv\n");
}

DEFINE_TEST(critical_loop_over_a_disk)
{
	put_disk(HBA "/block", "sda", 0);
	put_disk(VIRTUAL, "loop0", 100);
	put("/dev/sda\n", "sys/class/block/loop0/loop/backing_file");
	EXPECT(MOUNT("8:100", "/"), SLOT "disk sda is mounted on / through loop0\n");
}

DEFINE_TEST(critical_nvme_multipath_on_two_ports)
{
	put_disk("virtual/nvme-subsystem/nvme-subsys0", "nvme0n1", 0);
	put_partition("virtual/nvme-subsystem/nvme-subsys0", "nvme0n1", "nvme0n1p1", 1);
	put_link("../../../" HBA "/nvme/nvme0",
		 "sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0");
	put_link("../../../" HBA2 "/nvme/nvme1",
		 "sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme1");
	EXPECT(MOUNT("8:1", "/"),
	       SLOT "disk nvme0n1p1 is mounted on /\n" SLOT2 "disk nvme0n1p1 is mounted on /\n");
}

DEFINE_TEST(critical_virtio_and_usb)
{
	put_disk("pci0000:00/0000:00:05.0/virtio2/block", "vda", 0);
	put_disk("pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host6/target6:0:0/6:0:0:0/block", "sdc",
		 32);
	EXPECT(MOUNT("8:0", "/") MOUNT("8:32", "/media/stick"),
	       "0000:00:05.0 disk vda is mounted on /\n"
	       "0000:00:14.0 disk sdc is mounted on /media/stick\n");
}

DEFINE_TEST(critical_disk_behind_vmd)
{
	put_disk("pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:06.0/10000:e1:00.0/nvme/nvme0",
		 "nvme0n1", 0);
	EXPECT(MOUNT("8:0", "/"), "0000:00:0e.0 disk nvme0n1 is mounted on /\n"
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
	EXPECT(MOUNT("8:100", "/"), SLOT "disk sda is mounted on / through dm-1 and dm-0\n");
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
	put(MOUNT("8:299", "/"), "proc/1/mountinfo");
	CHECK_EQ(run(&o), 0);
	CHECK_STR(out_text(&o), SLOT "disk sda is held by dm-0\n");
	out_free(&o);
}

DEFINE_TEST(critical_thousands_of_disks_and_mounts)
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
	put(out_text(&mounts), "proc/1/mountinfo");
	out_free(&mounts);
	CHECK_EQ(run(&mounts), 0);
	CHECK_IN(out_text(&mounts), "07cf:00:00.0 disk sd1999 is mounted on /m1999.0\n");
	out_free(&mounts);
}

DEFINE_TEST(critical_names_are_harmless)
{
	put_disk(HBA "/block", "sda", 0);
	EXPECT(MOUNT("8:0", "/a\\012\\033b\\000c\\134"), SLOT "disk sda is mounted on /a??b?c\\\n");
	EXPECT(MOUNT("8:0",
		     "/0123456789012345678901234567890123456789012345678901234567890123456789"
		     "0123456789012345678901234567890123456789"),
	       SLOT "disk sda is mounted on /012345678901234567890123456789012345678901234567890123"
		    "45678901234567890123456789012345678901...\n");
}

DEFINE_TEST(critical_garbage)
{
	put_disk(HBA "/block", "sda", 0);
	put("\xff\xfe:\n", "sys/class/block/sda/dev");
	put("not a link", "sys/class/block/readme");
	put("not a link", "sys/class/net/bonding_masters");
	put("\x01\x02", "sys/bus/pci/devices/0000:01:00.0/class");
	put("\x01\x02 \n\n/\n/ x\n", "proc/swaps");
	put("x\ny 0 0 0\n\xff\xff\n", "proc/1/net/route");
	put("-\n", "proc/1/net/if_inet6");
	put(") E (\n(((\n", "proc/consoles");
	EXPECT(" - \n- - -\n1 2 : 4 5 - 6 7\n1 2 99999999999999999999:0 / / - x /dev/../dev/sda\n"
	       "1 2 3:4 / /p - x /dev/../../etc\n",
	       "");
}

/* A real block device that somebody has opened exclusively; loop devices need no medium. */
DEFINE_TEST(critical_open_exclusively)
{
	_close_ int fd = -1;
	char node[PATH_MAX];

	put("", "dev/sda"); /* no block device: never opened */
	put_disk(HBA "/block", "sda", 0);
	put_disk(HBA2 "/block", "loop", 7);
	put("7:7\n", "sys/class/block/loop/dev");
	snprintf(node, sizeof(node), "%s/dev/loop", test_dir());
	if (mknod(node, S_IFBLK | 0600, makedev(7, 7)))
		SKIP("no block device can be made here: %s", strerror(errno));
	EXPECT("", "");
	fd = open(node, O_RDONLY | O_EXCL | O_CLOEXEC);
	if (fd < 0)
		SKIP("loop7 cannot be opened: %s", strerror(errno));
	EXPECT("", SLOT2 "disk loop is open exclusively\n");
	put("7:8\n", "sys/class/block/loop/dev"); /* the node is another device's */
	EXPECT("", "");
}

/* ---- NICs */

DEFINE_TEST(critical_route_through_vlan_bridge_and_bond)
{
	put_nic(NIC1, "eno1");
	put_nic(NIC2, "eno2");
	put_nic("virtual", "bond0");
	put_nic("virtual", "br0");
	put_nic("virtual", "br0.5");
	put("", "sys/class/net/bond0/bonding/mode");
	nic_master("bond0", "eno1");
	nic_master("bond0", "eno2");
	nic_master("br0", "bond0");
	nic_stack("br0.5", "br0");
	put(ROUTES DEFAULT_ROUTE("br0.5"), "proc/1/net/route");
	EXPECT("",
	       "0000:03:00.0 NIC eno1 carries the default route through bond0, br0 and br0.5\n"
	       "0000:03:00.1 NIC eno2 carries the default route through bond0, br0 and br0.5\n");
	put(ROUTES, "proc/1/net/route");
	EXPECT("", "0000:03:00.0 NIC eno1 is below bond bond0\n"
		   "0000:03:00.1 NIC eno2 is below bond bond0\n");
}

DEFINE_TEST(critical_ipv6_default_route)
{
	put_nic(NIC1, "eno1");
	put_nic(NIC2, "eno2");
#define ANY6                                                                                       \
	"00000000000000000000000000000000 00 00000000000000000000000000000000 00 "                 \
	"fe800000000000000000000000000001 00000400 00000001 00000000 "
	put(ANY6 "00200200 eno2\n" ANY6 "00450003 eno1\n", "proc/1/net/ipv6_route");
	EXPECT("", "0000:03:00.0 NIC eno1 carries the default route\n");
}

#define NET(nic, net, gw) nic "\t" net "\t" gw "\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"

DEFINE_TEST(critical_global_address)
{
	put_nic(NIC1, "eno1");
	put_nic(NIC2, "eno2");
	/* link-local, multicast, loopback, and a net behind a gateway tell nothing of an address */
	put(ROUTES NET("eno1", "0000FEA9", "00000000") NET("eno1", "000000E0", "00000000")
		    NET("eno1", "0000007F", "00000000") NET("eno1", "0001A8C0", "0101A8C0")
			    NET("eno2", "0001A8C0", "00000000"),
	    "proc/net/route");
	put("fe800000000000000000000000000001 02 40 20 80 eno1\n", "proc/net/if_inet6");
	EXPECT("", "0000:03:00.1 NIC eno2 is up with a global address\n");
	put("fd000000000000000000000000000001 02 40 00 80 eno1\n", "proc/net/if_inet6");
	put("0x1002\n", "sys/class/net/eno2/flags");
	EXPECT("", "0000:03:00.0 NIC eno1 is up with a global address\n");
}

DEFINE_TEST(critical_address_on_a_vlan)
{
	put_nic(NIC1, "eno1");
	put_nic("virtual", "eno1.7");
	nic_stack("eno1.7", "eno1");
	EXPECT("", "");
	put("fd000000000000000000000000000001 02 40 00 80 eno1.7\n", "proc/1/net/if_inet6");
	EXPECT("", "0000:03:00.0 NIC eno1 is up with a global address through eno1.7\n");
}

DEFINE_TEST(critical_bridge_over_vlan)
{
	put_nic(NIC1, "eno1");
	put_nic("virtual", "eno1.7");
	put_nic("virtual", "br7");
	put("", "sys/class/net/br7/bridge/bridge_id");
	nic_stack("eno1.7", "eno1");
	nic_master("br7", "eno1.7");
	EXPECT("", "0000:03:00.0 NIC eno1 is below bridge br7 through eno1.7\n");
}

DEFINE_TEST(critical_open_vswitch_and_team)
{
	put_nic(NIC1, "eno1");
	put_nic(NIC2, "eno2");
	put_nic("virtual", "ovs-system");
	put_nic("virtual", "team0");
	/* without upper_ and lower_ links, as older kernels have it */
	put_link("../ovs-system", "sys/class/net/eno1/master");
	put_link("../team0", "sys/class/net/eno2/master");
	EXPECT("", "0000:03:00.0 NIC eno1 is below the Open vSwitch datapath ovs-system\n"
		   "0000:03:00.1 NIC eno2 is below team0\n");
}

DEFINE_TEST(critical_nic_cycle_ends)
{
	put_nic(NIC1, "eno1");
	put_nic("virtual", "a");
	put_nic("virtual", "b");
	nic_stack("a", "b");
	nic_stack("b", "a");
	nic_stack("b", "eno1");
	put(ROUTES DEFAULT_ROUTE("a"), "proc/1/net/route");
	EXPECT("", "0000:03:00.0 NIC eno1 carries the default route through b and a\n");
}

/* ---- consoles and functions */

DEFINE_TEST(critical_functions)
{
	put("0x060100\n", "sys/bus/pci/devices/0000:00:1f.0/class");
	put("0x0c0500\n", "sys/bus/pci/devices/0000:00:1f.4/class");
	put("0x030000\n", "sys/bus/pci/devices/0000:08:00.0/class");
	put("0\n", "sys/bus/pci/devices/0000:08:00.0/boot_vga");
	put("0x030000\n", "sys/bus/pci/devices/0000:09:00.0/class");
	put("1\n", "sys/bus/pci/devices/0000:09:00.0/boot_vga");
	put("0x060000\n", "sys/bus/pci/devices/0000:00:00.0/class");
	put("0x060100\n", "sys/bus/pci/devices/rubbish/class");
	EXPECT("", "0000:00:1f.0 it is the ISA bridge\n"
		   "0000:00:1f.4 it is the SMBus controller\n"
		   "0000:09:00.0 it is the boot console's display\n");
}

DEFINE_TEST(critical_serial_console)
{
	put_class("tty", HBA "/tty", "ttyS4");
	put_class("tty", HBA2 "/tty", "ttyS5");
	put("ttyS4                -W- (EC   p  )    4:68\nttyS5 -W- (  p  )    4:69\n"
	    "../../x -W- (E) 1:2\n",
	    "proc/consoles");
	EXPECT("", SLOT "it carries the boot console ttyS4\n");
}

DEFINE_TEST(critical_weightiest_reason_wins)
{
	put_disk(HBA "/block", "sda", 0);
	put_disk(VIRTUAL, "dm-0", 100);
	stack("dm-0", "sda");
	put("0x060100\n", "sys/bus/pci/devices/0000:01:00.0/class");
	EXPECT("", SLOT "disk sda is held by dm-0\n");
	EXPECT(MOUNT("8:100", "/mnt"), SLOT "disk sda is mounted on /mnt through dm-0\n");
	EXPECT(MOUNT("8:100", "/mnt") MOUNT("8:100", "/"),
	       SLOT "disk sda is mounted on / through dm-0\n");
}
