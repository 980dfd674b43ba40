// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/guard/hold.h"
#include "fakeholders.h"

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
	put_process(812, "qemu-system-x86\n", "dev/vfio/12");
	put_process(813, "other\n", "dev/vfio/1");
	put_process(814, "container\n", "dev/vfio/vfio");
	EXPECT(NULL,
	       A " pid=812 comm=\"qemu-system-x86\"\n" B " pid=812 comm=\"qemu-system-x86\"\n");
	EXPECT(B, B " pid=812 comm=\"qemu-system-x86\"\n");
}

DEFINE_TEST(holders_of_a_cdev)
{
	put_machine();
	put_node(A_DIR, "vfio-dev/vfio3", "class/vfio-dev/vfio3");
	host_file("", "dev/vfio/devices/vfio3");
	put_process(9, "vmm\n", "dev/vfio/devices/vfio3");
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

/* Any process may have such files, in a mount namespace of its own too; and a node may be called
 * anything. */
DEFINE_TEST(holders_are_known_by_what_is_open)
{
	put_machine();
	host_file("", "sys/" A_DIR "/resource0");
	host_file("", "made/vfio/12");
	host_file("", "made/" A "/resource0");
	put_process(7, "liar\n", "made/vfio/12");
	put_process(8, "liar\n", "made/" A "/resource0");
	put_process(9, "reader\n", "sys/" A_DIR "/vendor");
	put_process(10, "gone\n", "/dev/vfio/12 (deleted)");
	EXPECT(NULL, "");
	CHECK(!chdir(test_dir()) && !link("dev/vfio/12", "innocent"));
	put_process(11, "hidden\n", "innocent");
	EXPECT(B, B " pid=11 comm=\"hidden\"\n");
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
	host_file("", "dev/nvidia4");
	host_file("", "dev/nvidiactl");
	put_process(812, "nvidia-persiste\n", "dev/nvidia4");
	put_process(813, "x\n", "dev/nvidiactl");
	EXPECT(NULL, A " pid=812 comm=\"nvidia-persiste\"\n");
}

#define MDEV "83b8f4f2-509f-382f-3c1e-e6bfe0fa1001"
#define STICK B_DIR "/usb1/1-2"

/* A mediated device in its own group, and a USB device; each with the function it hangs on. */
static void put_others(void)
{
	host_link("../../../../../bus/mdev", "sys/" A_DIR "/" MDEV "/subsystem");
	host_link("../../../../" A_DIR "/" MDEV, "sys/kernel/iommu_groups/30/devices/" MDEV);
	host_file("", "dev/vfio/30");
	put_node(A_DIR "/" MDEV, "vfio-dev/vfio5", "class/vfio-dev/vfio5");
	host_file("", "dev/vfio/devices/vfio5");
	host_link("../../../../../bus/usb", "sys/" STICK "/subsystem");
	put_node(STICK, "1-2:1.0/ttyUSB0", "dev/char/1:8");
}

DEFINE_TEST(holders_of_devices_of_other_buses)
{
	put_machine();
	put_others();
	put_process(10, "qemu\n", "dev/vfio/30");
	put_process(11, "vmm\n", "dev/vfio/devices/vfio5");
	put_process(12, "modem\n", "/dev/random");
	EXPECT(NULL, A " pid=10 comm=\"qemu\"\n" A " pid=11 comm=\"vmm\"\n" B
		       " pid=12 comm=\"modem\"\nmdev/" MDEV " pid=10 comm=\"qemu\"\nmdev/" MDEV
		       " pid=11 comm=\"vmm\"\nusb/1-2 pid=12 comm=\"modem\"\n");
	EXPECT("mdev/" MDEV, "mdev/" MDEV " pid=10 comm=\"qemu\"\nmdev/" MDEV
			     " pid=11 comm=\"vmm\"\n");
	EXPECT("usb/1-2 " B, B " pid=12 comm=\"modem\"\nusb/1-2 pid=12 comm=\"modem\"\n");
}

/* By its resource files and by what it has enabled too, which are looked for by name. */
DEFINE_TEST(holders_of_functions_asked_about_with_others)
{
	put_machine();
	host_file("", "sys/" A_DIR "/resource0");
	host_file("1\n", "sys/" B_DIR "/enable");
	host_link("../../../../bus/pci/drivers/vfio-pci", "sys/" B_DIR "/driver");
	put_process(10, "x\n", "sys/" A_DIR "/resource0");
	put_process(11, "vmm\n", "anon_inode:[vfio-device]");
	host_file("pos:\t0\n", "proc/11/fdinfo/3");
	EXPECT("usb/2-1 " A " mdev/" MDEV " " B,
	       A " pid=10 comm=\"x\"\n" B " pid=11 comm=\"vmm\"\n");
}

DEFINE_TEST(holders_of_resource_files)
{
	static const char *const names[] = { "resource0", "resource3_wc", "resource",
					     "resource0x", "config",	   "rom" };
	const char *lines = A " pid=7 comm=\"x\"\n" A " pid=8 comm=\"x\"\n";

	put_machine();
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char path[128];

		snprintf(path, sizeof(path), "sys/" A_DIR "/%s", names[i]);
		host_file("", "%s", path);
		put_process((int)i + 7, "x\n", path);
	}
	EXPECT(NULL, lines);
	EXPECT(A, lines);
	EXPECT(B, "");
}

/* The group's descriptor is closed; the device's has no name but the one that it has from 6.18
 * on. */
DEFINE_TEST(holders_of_an_anonymous_device)
{
	put_machine();
	put_process(7, "vmm\n", "anon_inode:[vfio-device]");
	host_file("pos:\t0\nvfio-device-syspath: /sys/" B_DIR "\n", "proc/7/fdinfo/3");
	EXPECT(NULL, B " pid=7 comm=\"vmm\"\n");
	EXPECT(A, "");
}

/* Before that: what a vfio driver has enabled for nobody that is known is one of theirs. */
DEFINE_TEST(holders_of_an_anonymous_device_unknown)
{
	put_machine();
	host_link("../../../bus/pci/drivers/vfio-pci", "sys/" A_DIR "/driver");
	host_link("../../../bus/pci/drivers/nvme", "sys/" B_DIR "/driver");
	host_file("1\n", "sys/" B_DIR "/enable");
	put_process(7, "vmm\n", "anon_inode:[vfio-device]");
	host_file("pos:\t0\n", "proc/7/fdinfo/3");
	EXPECT(NULL, "");
	host_file("1\n", "sys/" A_DIR "/enable");
	EXPECT(NULL, A " pid=7 comm=\"vmm\"\n");
	EXPECT(A, A " pid=7 comm=\"vmm\"\n");
	put_process(8, "qemu\n", "dev/vfio/12");
	put_open("anon_inode:[vfio-device]", 8, 4);
	EXPECT(A, A " pid=8 comm=\"qemu\"\n");
}

DEFINE_TEST(holders_are_told_once)
{
	put_machine();
	put_process(7, "a\n", "dev/vfio/12");
	host_file("", "sys/" A_DIR "/resource0");
	put_open("dev/vfio/12", 7, 4);
	put_open("sys/" A_DIR "/resource0", 7, 5);
	EXPECT(A, A " pid=7 comm=\"a\"\n");
}

DEFINE_TEST(holders_comm_is_harmless)
{
	put_machine();
	put_process(7, "a\"b\\c\nd\033\n", "dev/vfio/12");
	EXPECT(A, A " pid=7 comm=\"a?b?c?d?\"\n");
	put_process(6, "q\302\233x\342\200\256\303\n", "dev/vfio/12");
	EXPECT(A, A " pid=6 comm=\"q??x????\"\n" A " pid=7 comm=\"a?b?c?d?\"\n");
}

DEFINE_TEST(holders_that_vanish_are_skipped)
{
	put_machine();
	put_open("dev/vfio/12", 7, 3); /* no comm any more */
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
		put_process(pid, "x\n", "dev/vfio/12");
	CHECK_EQ(run(A, &o), 0);
	CHECK_IN(out_text(&o), A " pid=64 comm=\"x\"\n" A " more=6\n");
	out_free(&o);
}

DEFINE_TEST(holders_of_those_asked_about)
{
	put_machine();
	put_process(7, "a\n", "dev/vfio/12");
	host_file("", "sys/" B_DIR "/resource0");
	put_process(8, "b\n", "sys/" B_DIR "/resource0");
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
	put_process(7, "a\n", "dev/vfio/12");
	put_process(8, "b\n", "dev/vfio/12");
	snprintf(path, sizeof(path), "%s/proc/7/fd", test_dir());
	CHECK_EQ(chmod(path, 0), 0);
	/* root reads what it likes */
	if (!geteuid() && (chmod(test_dir(), 0755) || seteuid(65534)))
		SKIP("no other user to be: %s", strerror(errno));
	CHECK_EQ(run(NULL, &o), 0);
	CHECK_STR(out_text(&o), A " pid=8 comm=\"b\"\n" B " pid=8 comm=\"b\"\n- unseen=1 pid=7 comm=\"a\"\n");
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
	put_process(7, "a\n", "dev/vfio/12");
	host_open(&s);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	next = dup(s.fd[ROOT_PROC]);
	close(next);
	/* None for proc; that one, and none for a process. */
	for (rlim_t more = 0; more < 2; more++) {
		limit.rlim_cur = (rlim_t)next + more;
		CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
		CHECK_EQ(holders_scan(&s, NULL, NULL, &o), -EMFILE);
		CHECK_EQ(o.len, 0);
	}
	limit.rlim_cur = limit.rlim_max;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	EXPECT(A, A " pid=7 comm=\"a\"\n");
	sysfs_close(&s);
}
