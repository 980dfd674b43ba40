// SPDX-License-Identifier: GPL-2.0-or-later
/* Holders among processes of the kernel that runs this. */
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
	CHECK_STR(strstr(strchr(out_text(&o), '\n'), A) ?: "", "");
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
	CHECK_EQ(holders_scan(&s, NULL, A, &o), 1);
	CHECK_STR(out_text(&o), A " pid=6 comm=\"qemu\"\n" A " pid=8 comm=\"qemu\"\n" A
				  " unsure pid=7 comm=\"hangs\"\n- unknown=1\n");
	close(fuse);
	out_free(&o);
	sysfs_close(&s);
}
