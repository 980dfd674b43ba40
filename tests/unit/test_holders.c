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

#include "../../backend/hold.h"
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

/* A device with a node below a function's directory, linked where. Numbers are of nodes that
 * every /dev has: zero is 1:5, full 1:7, random 1:8. */
static void put_node(const char *dir, const char *sub, const char *where)
{
	char target[256];

	snprintf(target, sizeof(target), "../../%s/%s", dir, sub);
	host_link(target, "sys/%s", where);
}

/* Where a descriptor leads: a file below the host, or what begins with a slash or is none. */
static void put_open(const char *open, int pid, int fd)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", test_dir(), open);
	host_link(open[0] == '/' || strstr(open, ":[") ? open : path,
		  "proc/%d/fd/%d", pid, fd);
}

static void put_process(int pid, const char *comm, const char *open)
{
	host_file(comm, "proc/%d/comm", pid);
	put_open(open, pid, 3);
}

static void put_machine(void)
{
	put_function(A, A_DIR, "12");
	put_function(B, B_DIR, "12");
	host_file("", "dev/vfio/12");
	host_file("", "dev/vfio/1");
	host_file("", "dev/vfio/vfio");
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
	put_process(7, "a\n", "dev/vfio/12");
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

/* ---- real processes */

/* With this kernel's own proc. */
static void put_real(void)
{
	put_function(A, A_DIR, "12");
	host_file("", "dev/vfio/12");
	host_link("/proc", "proc");
	CHECK_EQ(chdir(test_dir()), 0);
}

struct opener {
	int ready[2];
	int flags;
	bool leader_ends;
};

static void wait_for_end(void)
{
	for (;;)
		pause();
}

static void *open_apart(void *arg)
{
	const struct opener *o = arg;

	if (unshare(CLONE_FILES) || open("dev/vfio/12", o->flags) < 0 ||
	    write(o->ready[1], "", 1) != 1)
		_exit(1);
	wait_for_end();
	return NULL;
}

static void open_in_thread(struct opener *o)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, open_apart, o))
		return;
	if (o->leader_ends)
		pthread_exit(NULL);
	wait_for_end();
}

static void open_and_unlink(struct opener *o)
{
	if (!link("dev/vfio/12", "other") && open("other", o->flags) >= 0 && !unlink("other") &&
	    write(o->ready[1], "", 1) == 1)
		wait_for_end();
}

static pid_t start(struct opener *o, void (*opens)(struct opener *o))
{
	pid_t pid;
	char c;

	CHECK_EQ(pipe2(o->ready, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		opens(o);
		_exit(1);
	}
	close(o->ready[1]);
	CHECK_EQ(read(o->ready[0], &c, 1), 1);
	close(o->ready[0]);
	return pid;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, NULL, __WALL), pid);
}

static bool is_holder(pid_t pid)
{
	struct out o = { 0 };
	char line[80];
	bool is;

	CHECK_EQ(run(NULL, &o), 0);
	snprintf(line, sizeof(line), A " pid=%d ", (int)pid);
	is = strstr(out_text(&o), line);
	out_free(&o);
	return is;
}

/* What can do nothing holds nothing: anybody may have such a descriptor of any node. */
DEFINE_TEST(holders_can_act)
{
	static const struct {
		int flags;
		bool holds;
	} rows[] = { { O_RDWR, true }, { O_RDONLY, true }, { O_PATH, false }, { O_ACCMODE, true } };

	put_real();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct opener o = { .flags = rows[i].flags };
		pid_t pid = start(&o, open_and_unlink);

		CHECK_EQ(is_holder(pid), rows[i].holds);
		stop(pid);
	}
}

DEFINE_TEST(holders_that_are_threads)
{
	if (syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILES, 0, 0))
		SKIP("no kcmp(): %s", strerror(errno));
	put_real();
	for (int ends = 0; ends < 2; ends++) {
		struct opener o = { .flags = O_RDWR, .leader_ends = ends };
		pid_t pid = start(&o, open_in_thread);

		CHECK(is_holder(pid));
		stop(pid);
	}
}

static int share(void *arg)
{
	(void)arg;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	wait_for_end();
	return 0;
}

/* Were their table read for each of them, it would be more than anybody may have. */
DEFINE_TEST(holders_share_a_table_that_is_read_once)
{
	static char stacks[40][16384] __attribute__((aligned(16)));
	struct rlimit limit = { 5000, 5000 };
	struct out o = { 0 };
	pid_t pids[ARRAY_SIZE(stacks)];

	if (syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILES, 0, 0))
		SKIP("no kcmp(): %s", strerror(errno));
	put_real();
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	for (int i = 0; i < 4500; i++)
		CHECK(open("/dev/null", O_RDONLY) >= 0);
	CHECK(open("dev/vfio/12", O_RDWR) >= 0);
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		pids[i] = clone(share, stacks[i] + sizeof(stacks[i]), CLONE_FILES | SIGCHLD, NULL);
		CHECK(pids[i] > 0);
	}
	CHECK_EQ(run(A, &o), 0);
	CHECK_IN(out_text(&o), A " pid=");
	CHECK(!strstr(strchr(out_text(&o), '\n'), A));
	CHECK(!strstr(out_text(&o), "unknown"));
	out_free(&o);
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		stop(pids[i]);
}

/* ---- what cannot be known */

static void put_user(int pid, uid_t uid)
{
	char text[128];

	snprintf(text, sizeof(text), "Name:\tx\nUid:\t%u\t0\t0\t0\nGid:\t77777\t0\nGroups:\t5 6 \n",
		 uid);
	host_file(text, "proc/%d/status", pid);
}

/* It concerns only those devices that its user could open. */
DEFINE_TEST(holders_beyond_their_budget_are_unsure)
{
	uid_t me = geteuid();

	put_machine();
	put_function("0000:09:00.0", "devices/pci0000:00/0000:00:02.0/0000:09:00.0", "1");
	put_process(7, "nginx\n", "/dev/null");
	CHECK_EQ(chdir(test_dir()), 0);
	for (int fd = 4; fd < HOLD_PROCESS + 5; fd++) {
		char path[32];

		snprintf(path, sizeof(path), "proc/7/fd/%d", fd);
		CHECK_EQ(symlink("socket:[1]", path), 0);
	}
	put_process(8, "qemu\n", "dev/vfio/1");
	CHECK(!chmod("dev/vfio/12", 0600) && !chmod("dev/vfio/1", 0));
	put_user(7, me);
	EXPECT(NULL, A " unsure pid=7 comm=\"nginx\"\n" B " unsure pid=7 comm=\"nginx\"\n"
		       "0000:09:00.0 pid=8 comm=\"qemu\"\n- unknown=1\n");
	put_user(7, me + 1);
	EXPECT(NULL, "0000:09:00.0 pid=8 comm=\"qemu\"\n- unknown=1\n");
	CHECK_EQ(chmod("dev/vfio/12", 0606), 0);
	EXPECT(A, A " unsure pid=7 comm=\"nginx\"\n- unknown=1\n");
}

DEFINE_TEST(holders_budget_is_a_users_own)
{
	struct hold_budget b = { 0 };
	struct hold_user *root = hold_user(&b, 0), *alice = hold_user(&b, 1000);
	struct hold_user *last = NULL;

	CHECK(hold_user(&b, 1000) == alice && alice != root);
	CHECK(hold_take(&b, alice, HOLD_USER));
	CHECK(!hold_take(&b, alice, 1));
	/* When the pool is at its end, root's share and each user's reserve are not. */
	hold_charge(&b, alice, UINT32_MAX / 2);
	hold_charge(&b, alice, UINT32_MAX / 2);
	CHECK(!hold_take(&b, alice, 1));
	CHECK(hold_take(&b, root, HOLD_ROOT) && !hold_take(&b, root, 1));
	CHECK(hold_take(&b, hold_user(&b, 7), HOLD_RESERVE));
	CHECK(!hold_take(&b, hold_user(&b, 7), 1));
	/* All those beyond a number are one, and have none. */
	for (uid_t uid = 1; uid < 1000; uid++)
		last = hold_user(&b, uid);
	CHECK(hold_user(&b, 5000) == last && !hold_take(&b, last, 1));
}

/* A file system whose server never answers: who stands still there is left alone, and the others
 * are told. */
DEFINE_TEST(holders_behind_one_that_hangs)
{
	struct out o = { 0 };
	struct sysfs s;
	int fuse;

	put_machine();
	fuse = host_hang("hangs");
	put_process(7, "hangs\n", "hangs/x");
	put_user(7, geteuid());
	put_process(6, "qemu\n", "dev/vfio/12");
	put_process(8, "qemu\n", "dev/vfio/12");
	host_open(&s);
	CHECK_EQ(holders_scan(&s, A, &o), 1);
	CHECK_STR(out_text(&o), A " pid=6 comm=\"qemu\"\n" A " pid=8 comm=\"qemu\"\n" A
				  " unsure pid=7 comm=\"hangs\"\n- unknown=1\n");
	close(fuse);
	out_free(&o);
	sysfs_close(&s);
}
