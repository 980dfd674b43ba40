// SPDX-License-Identifier: GPL-2.0-or-later
/* A walk for holders skips the daemon's own processes, and nobody else. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/guard/hold.h"
#include "fakehost.h"
#include "fakeholders.h"

/* ---- of this kernel: the test is the serving process, and holds the mount */

enum part { STRANGER, SPAWNER, HELPER, CHILD, ITSELF, PARTS };

struct cast {
	pid_t pids[PARTS];
	char text[4096]; /* what a helper has found */
};

static void hold_node(void)
{
	if (open("dev/vfio/12", O_RDWR) < 0)
		_exit(1);
}

static pid_t start_child(void)
{
	pid_t pid = fork();

	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static void be_holder(struct cast *c, enum part part)
{
	hold_node();
	*(volatile pid_t *)&c->pids[part] = getpid();
	for (;;)
		pause();
}

static void await(struct cast *c, enum part part)
{
	while (!*(volatile pid_t *)&c->pids[part])
		usleep(1000);
}

static void scan(struct cast *c, const struct hold_asker *asker)
{
	struct out o = { 0 };
	struct sysfs s;

	host_open(&s);
	if (holders_scan(&s, asker, NULL, &o))
		_exit(1);
	snprintf(c->text, sizeof(c->text), "%s", out_text(&o));
	_exit(0);
}

/* The helper that looks; beside it is another one, which has a child. */
static void be_spawner(struct cast *c, bool mistaken)
{
	const struct hold_asker asker = { c->pids[ITSELF], getpid() - mistaken, c->pids[ITSELF] };
	pid_t child;
	int status;

	hold_node();
	if (!start_child()) {
		if (!start_child())
			be_holder(c, CHILD);
		be_holder(c, HELPER);
	}
	await(c, HELPER);
	await(c, CHILD);
	c->pids[SPAWNER] = getpid();
	child = start_child();
	if (!child)
		scan(c, &asker);
	_exit(waitpid(child, &status, 0) == child && !status ? 0 : 1);
}

/* All of them have the node open, the test as this descriptor. */
static void play(struct cast *c, int fd, bool mistaken)
{
	pid_t pid;
	int status;

	put_machine();
	host_link("/proc", "proc");
	CHECK_EQ(chdir(test_dir()), 0);
	CHECK(dup2(open("dev/vfio/12", O_RDWR | O_CLOEXEC), fd) == fd);
	c->pids[ITSELF] = getpid();
	if (!start_child())
		be_holder(c, STRANGER);
	await(c, STRANGER);
	pid = start_child();
	if (!pid)
		be_spawner(c, mistaken);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	kill(c->pids[STRANGER], SIGKILL);
}

static bool is_told(const struct cast *c, enum part part)
{
	char line[80];

	snprintf(line, sizeof(line), A " pid=%d ", (int)c->pids[part]);
	return strstr(c->text, line);
}

static struct cast *cast_new(void)
{
	struct cast *c =
		mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(c != MAP_FAILED);
	return c;
}

DEFINE_TEST(hold_own_is_skipped)
{
	struct cast *c = cast_new();

	play(c, 30, false);
	CHECK(is_told(c, STRANGER) && is_told(c, CHILD));
	CHECK(!is_told(c, SPAWNER) && !is_told(c, HELPER) && !is_told(c, ITSELF));
}

/* The daemon opens no device, but may have been started with one as its output. */
DEFINE_TEST(hold_own_outputs)
{
	struct cast *c = cast_new();

	play(c, STDIN_FILENO, false);
	CHECK(is_told(c, ITSELF) && !is_told(c, HELPER));
}

/* Whose parent is another one than it was told belongs to nobody it knows. */
DEFINE_TEST(hold_own_after_the_spawner)
{
	struct cast *c = cast_new();

	play(c, 30, true);
	for (enum part part = STRANGER; part < PARTS; part++)
		CHECK(is_told(c, part));
}

/* ---- what becomes of them during a walk */

static void expect_left(struct hold_own *own, const struct sysfs *s, const pid_t *pids)
{
	hold_own_check(own, s);
	for (; *pids; pids++)
		CHECK_EQ(hold_own_left(own), *pids);
	CHECK_EQ(hold_own_left(own), 0);
}

DEFINE_TEST(hold_own_pids_given_again)
{
	struct hold_asker asker = { 7, getppid(), 8 };
	struct hold_own own;
	struct sysfs s;

	host_file("21 22 23 \n", "proc/%d/task/%d/children", (int)getppid(), (int)getppid());
	/* One of them asks the driver of a GPU, another one runs a vendor's program. */
	host_file("31 \n", "proc/22/task/22/children");
	host_file("pcidevfs-nvml\n", "proc/31/comm");
	host_file("32 33 \n", "proc/23/task/23/children");
	host_file("sriov-manage\n", "proc/32/comm");
	host_open(&s);
	hold_own_open(&own, &s, &asker);
	CHECK_EQ(hold_own_part(&own, 22), HOLD_NOTHING);
	CHECK_EQ(hold_own_part(&own, 31), HOLD_NOTHING);
	CHECK_EQ(hold_own_part(&own, 32), HOLD_ALL_OF_IT);
	CHECK_EQ(hold_own_part(&own, 33), HOLD_ALL_OF_IT);
	CHECK_EQ(hold_own_part(&own, getppid()), HOLD_NOTHING);
	CHECK_EQ(hold_own_part(&own, 7), HOLD_OUTPUTS);
	CHECK_EQ(hold_own_part(&own, 8), HOLD_OUTPUTS);
	CHECK_EQ(hold_own_part(&own, 24), HOLD_ALL_OF_IT);
	host_file("21 23 24 \n", "proc/%d/task/%d/children", (int)getppid(), (int)getppid());
	expect_left(&own, &s, (const pid_t[]){ 31, 22, 0 });
	/* The spawner has ended: any of them may be another one. */
	hold_own_open(&own, &s, &asker);
	own.asker.spawner = 1;
	expect_left(&own, &s, (const pid_t[]){ 8, 7, 1, 24, 23, 21, 0 });
	asker.spawner = 1;
	hold_own_open(&own, &s, &asker);
	CHECK_EQ(hold_own_part(&own, 7), HOLD_ALL_OF_IT);
	CHECK_EQ(hold_own_part(&own, 1), HOLD_ALL_OF_IT);
	expect_left(&own, &s, (const pid_t[]){ 0 });
	sysfs_close(&s);
}

/* Threads of the kernel are known by a flag. A name may look like more fields. */
DEFINE_TEST(hold_threads_of_the_kernel)
{
	struct sysfs s;

	host_file("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0\n", "proc/2/stat");
	host_file("7 (a) S 0 0 0 0 -1 2129984 0) S 1 7 7 0 -1 4194560 0 0\n", "proc/7/stat");
	host_file("8 (a) S 1\n", "proc/8/stat");
	host_file("", "proc/9/stat");
	host_open(&s);
	CHECK(hold_is_kernel(&s, 2));
	CHECK(!hold_is_kernel(&s, 7) && !hold_is_kernel(&s, 8) && !hold_is_kernel(&s, 9));
	CHECK(!hold_is_kernel(&s, 10));
	sysfs_close(&s);
}
