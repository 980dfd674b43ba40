// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fakehost.h"
#include "pcidevfs/holders.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"
#include "test.h"

#define A "0000:08:00.0"
#define B "0000:08:00.1"
#define A_DIR "devices/pci0000:00/0000:00:01.0/" A
#define B_DIR "devices/pci0000:00/0000:00:01.0/" B

/* ---- a machine made of files */

static void put_function(const char *address, const char *dir, const char *group)
{
	char target[256];

	host_file("0x10de\n", "sys/%s/vendor", dir);
	snprintf(target, sizeof(target), "../../../kernel/iommu_groups/%s", group);
	host_link(target, "sys/%s/iommu_group", dir);
	snprintf(target, sizeof(target), "../../../%s", dir);
	host_link(target, "sys/bus/pci/devices/%s", address);
	host_link(target, "sys/kernel/iommu_groups/%s/devices/%s", group, address);
}

/* A device with a node below a function's directory, linked where. Numbers are of nodes that every /dev has:
 * zero is 1:5, full 1:7, random 1:8. */
static void put_node(const char *dir, const char *sub, const char *where)
{
	char target[256];

	snprintf(target, sizeof(target), "../../%s/%s", dir, sub);
	host_link(target, "sys/%s", where);
}

static void put_process(int pid, const char *comm, const char *open)
{
	host_file(comm, "proc/%d/comm", pid);
	host_link(open, "proc/%d/fd/3", pid);
}

static void put_machine(void)
{
	host_link("/dev", "dev");
	put_function(A, A_DIR, "12");
	put_function(B, B_DIR, "12");
}

static int run(const char *address, struct out *o)
{
	struct sysfs s;
	int rc;

	host_open(&s);
	rc = holders_scan(&s, address, o);
	sysfs_close(&s);
	return rc;
}

static void expect_from(const char *address, const char *lines, const char *file, int line)
{
	struct out o = { 0 };

	test_check_eq(file, line, "the scan", run(address, &o), 0);
	test_check_str(file, line, "holders", out_text(&o), lines);
	out_free(&o);
}

#define EXPECT(address, lines) expect_from(address, lines, __FILE__, __LINE__)

/* ---- rows */

DEFINE_TEST(holders_nobody)
{
	put_machine();
	put_process(1, "init\n", "/dev/null");
	EXPECT(NULL, "");
	EXPECT(A, "");
}

DEFINE_TEST(holders_of_a_group_hold_all_members)
{
	put_machine();
	put_process(812, "qemu-system-x86\n", "/dev/vfio/12");
	put_process(813, "other\n", "/dev/vfio/1");
	put_process(814, "container\n", "/dev/vfio/vfio");
	EXPECT(NULL,
	       A " pid=812 comm=\"qemu-system-x86\"\n" B " pid=812 comm=\"qemu-system-x86\"\n");
	EXPECT(B, B " pid=812 comm=\"qemu-system-x86\"\n");
}

DEFINE_TEST(holders_of_a_cdev)
{
	put_machine();
	put_node(A_DIR, "vfio-dev/vfio3", "class/vfio-dev/vfio3");
	put_process(9, "vmm\n", "/dev/vfio/devices/vfio3");
	EXPECT(NULL, A " pid=9 comm=\"vmm\"\n");
}

DEFINE_TEST(holders_of_device_nodes)
{
	put_machine();
	put_node(A_DIR, "drm/card0", "dev/char/1:5");
	put_node(B_DIR, "nvme/nvme0/nvme0n1/nvme0n1p1", "dev/char/1:7");
	put_node(B_DIR, "usb1", "dev/char/1:8");
	put_node("devices/virtual/mem", "urandom", "dev/char/1:9");
	put_process(10, "Xorg\n", "/dev/zero");
	put_process(11, "dd\n", "/dev/full");
	put_process(12, "usbip\n", "/dev/random");
	put_process(13, "dd\n", "/dev/zero1");
	put_process(14, "dd\n", "/dev/urandom");
	EXPECT(NULL,
	       A " pid=10 comm=\"Xorg\"\n" B " pid=11 comm=\"dd\"\n" B " pid=12 comm=\"usbip\"\n");
	EXPECT(A, A " pid=10 comm=\"Xorg\"\n");
}

DEFINE_TEST(holders_below_the_dev_root_as_given)
{
	char path[PATH_MAX];

	put_machine();
	snprintf(path, sizeof(path), "%s/dev/vfio/12", test_dir());
	put_process(7, "a\n", path);
	snprintf(path, sizeof(path), "%s/device/vfio/12", test_dir());
	put_process(8, "b\n", path);
	EXPECT(A, A " pid=7 comm=\"a\"\n");
}

DEFINE_TEST(holders_of_a_multipath_disk)
{
	put_machine();
	put_node("devices/virtual/nvme-subsystem/nvme-subsys0", "nvme0n1", "dev/char/1:5");
	host_link("../../../pci0000:00/0000:00:01.0/" A "/nvme/nvme0",
		  "sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0");
	host_link("../../../pci0000:00/0000:00:01.0/" B "/nvme/nvme1",
		  "sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme1");
	put_process(7, "a\n", "/dev/zero");
	EXPECT(NULL, A " pid=7 comm=\"a\"\n" B " pid=7 comm=\"a\"\n");
}

DEFINE_TEST(holders_of_nvidia_nodes)
{
	put_machine();
	test_file("proc/driver/nvidia/gpus/" A "/information",
		  "Model: \t\t NVIDIA A2\nDevice Minor: \t 4\nGPU Excluded:\t No\n");
	put_process(812, "nvidia-persiste\n", "/dev/nvidia4");
	put_process(813, "x\n", "/dev/nvidiactl");
	EXPECT(NULL, A " pid=812 comm=\"nvidia-persiste\"\n");
}

DEFINE_TEST(holders_of_resource_files)
{
	put_machine();
	put_process(7, "devmem\n", "/any/where/" A "/resource0");
	put_process(8, "wc\n", "/any/where/" A "/resource3_wc");
	put_process(9, "no\n", "/any/where/" A "/resource");
	put_process(10, "no\n", "/any/where/" A "/resource0x");
	put_process(11, "no\n", "/any/where/x/resource0");
	put_process(12, "no\n", "/resource0");
	EXPECT(NULL, A " pid=7 comm=\"devmem\"\n" A " pid=8 comm=\"wc\"\n");
}

DEFINE_TEST(holders_are_told_once)
{
	put_machine();
	put_process(7, "a\n", "/dev/vfio/12");
	host_link("/dev/vfio/12", "proc/7/fd/4");
	host_link("/any/" A "/resource0", "proc/7/fd/5");
	EXPECT(A, A " pid=7 comm=\"a\"\n");
}

DEFINE_TEST(holders_comm_is_harmless)
{
	put_machine();
	put_process(7, "a\"b\\c\nd\033\n", "/dev/vfio/12");
	EXPECT(A, A " pid=7 comm=\"a?b?c?d?\"\n");
}

DEFINE_TEST(holders_that_vanish_are_skipped)
{
	put_machine();
	host_link("/dev/vfio/12", "proc/7/fd/3"); /* no comm any more */
	test_file("proc/8/comm", "no fd\n");
	test_file("proc/notapid/fd/3", "");
	test_file("proc/9", "no directory");
	put_process(10, "b\n", "anon_inode:[vfio-device]");
	test_file("proc/10/fd/4", "no link");
	EXPECT(NULL, "");
}

DEFINE_TEST(holders_are_bounded)
{
	struct out o = { 0 };

	put_machine();
	for (int pid = 1; pid <= HOLDERS_MAX + 6; pid++)
		put_process(pid, "x\n", "/dev/vfio/12");
	CHECK_EQ(run(A, &o), 0);
	CHECK_IN(out_text(&o), A " pid=64 comm=\"x\"\n" A " more=6\n");
	out_free(&o);
}

DEFINE_TEST(holders_of_those_asked_about)
{
	put_machine();
	put_process(7, "a\n", "/dev/vfio/12");
	put_process(8, "b\n", "/any/" B "/resource0");
	EXPECT(A " " B, A " pid=7 comm=\"a\"\n" B " pid=7 comm=\"a\"\n" B " pid=8 comm=\"b\"\n");
	EXPECT("1" A, "");
	EXPECT("../../etc", "");
	EXPECT("", "");
}

DEFINE_TEST(holders_unreadable_process_is_told)
{
	struct out o = { 0 };
	char path[PATH_MAX];

	put_machine();
	put_process(7, "a\n", "/dev/vfio/12");
	put_process(8, "b\n", "/dev/vfio/12");
	snprintf(path, sizeof(path), "%s/proc/7/fd", test_dir());
	CHECK_EQ(chmod(path, 0), 0);
	/* root reads what it likes */
	if (!geteuid() && (chmod(test_dir(), 0755) || seteuid(65534)))
		SKIP("no other user to be: %s", strerror(errno));
	CHECK_EQ(run(NULL, &o), 0);
	CHECK_STR(out_text(&o), A " pid=8 comm=\"b\"\n" B " pid=8 comm=\"b\"\n- unseen=1\n");
	out_free(&o);
	CHECK_EQ(geteuid() == getuid() ? 0 : seteuid(getuid()), 0);
	CHECK_EQ(chmod(path, 0755), 0);
}

DEFINE_TEST(holders_are_unknown_without_descriptors)
{
	struct out o = { 0 };
	struct rlimit limit;
	struct sysfs s;
	int next;

	put_machine();
	put_process(7, "a\n", "/dev/vfio/12");
	host_open(&s);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	next = dup(s.fd[ROOT_PROC]);
	close(next);
	/* None for proc; that one, and none for a process. */
	for (rlim_t more = 0; more < 2; more++) {
		limit.rlim_cur = (rlim_t)next + more;
		CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
		CHECK_EQ(holders_scan(&s, NULL, &o), -EMFILE);
		CHECK_EQ(o.len, 0);
	}
	limit.rlim_cur = limit.rlim_max;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	EXPECT(A, A " pid=7 comm=\"a\"\n");
	sysfs_close(&s);
}
