// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pcidevfs/confine.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

static uint64_t status(const char *key)
{
	unsigned long long value = 0;
	char line[256];
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			sscanf(line + strlen(key), ": %llx", &value);
	if (f)
		fclose(f);
	return value;
}

DEFINE_TEST(confine_caps_keeps_what_it_is_told)
{
	uint64_t two = CAP(CHOWN) | CAP(FOWNER);

	if (confine_lacks(two | CAP(SETPCAP)))
		SKIP("this needs capabilities");
	CHECK_EQ(confine_caps(two, CAP(CHOWN), NULL), 0);
	CHECK_EQ(status("CapPrm"), two);
	CHECK_EQ(status("CapEff"), CAP(CHOWN));
	CHECK_EQ(confine_effective(getpid()), CAP(CHOWN));
	CHECK_EQ(confine_effective(0), 0); /* who is in another pid namespace is not us */
	CHECK_EQ(status("CapBnd"), two);
	CHECK_EQ(status("CapInh") | status("CapAmb"), 0);
	CHECK_EQ(confine_lacks(two | CAP(SYS_MODULE)), CAP(SYS_MODULE));
	CHECK_STR(confine_name(CAP(SYS_MODULE)), "CAP_SYS_MODULE");
	CHECK(!confine_name(0));
	/* What was given up stays so, and asking for it is no failure. */
	CHECK_EQ(confine_caps(two | CAP(SYS_ADMIN), ~UINT64_C(0), NULL), 0);
	CHECK_EQ(status("CapEff"), two);
}

static void *nothing(void *arg)
{
	return arg;
}

/* Errno of a call that must not have done anything: 0 it was done. */
#define TRY(...) ((__VA_ARGS__) < 0 ? errno : 0)

static void refused_calls(unsigned int deny)
{
	char *const argv[] = { (char *)"true", NULL };
	pid_t parent = getppid();
	const struct {
		unsigned int group;
		int got;
	} rows[] = {
		{ DENY_EXEC, TRY(execv("/nonexistent", argv)) },
		{ DENY_DEBUG, TRY(ptrace(PTRACE_SEIZE, parent, 0, 0)) },
		{ DENY_SIGNAL, TRY(kill(parent, 0)) },
		{ DENY_SIGNAL, TRY((int)syscall(SYS_tgkill, parent, parent, 0)) },
		{ DENY_SIGNAL, TRY(fcntl(STDIN_FILENO, F_SETOWN, parent)) },
		{ DENY_MODULE, TRY((int)syscall(SYS_finit_module, -1, "", 0)) },
		{ DENY_MOUNT, TRY(mount("none", "/nonexistent", "tmpfs", 0, NULL)) },
		{ DENY_CHROOT, TRY(chroot("/nonexistent")) },
		{ DENY_NS, TRY(setns(-1, 0)) },
		{ DENY_NS, TRY(unshare(0)) },
		{ DENY_NET, TRY(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) },
		{ DENY_SYSTEM, TRY((int)syscall(SYS_kexec_load, 0, 0, 0, ~0UL)) },
		{ DENY_SYSTEM, TRY((int)syscall(SYS_bpf, -1, 0, 0)) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if ((rows[i].got == EPERM) != !!(rows[i].group & deny))
			FAIL("row %zu of group %#x: %s", i, rows[i].group, strerror(rows[i].got));
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TESTED (DENY_ALL & ~(DENY_DEBUG | DENY_FORK))
#else
#define TESTED DENY_ALL
#endif

static void check_group(unsigned int deny)
{
	pid_t pid = fork();
	int end;

	if (!pid) {
		CHECK_EQ(confine_calls(deny, NULL), 0);
		refused_calls(deny);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &end, 0), pid);
	CHECK_EQ(end, 0);
}

/* Each group alone, for what is refused otherwise is none of its doing. */
DEFINE_TEST(confine_calls_by_groups)
{
	if (geteuid())
		SKIP("a user may not do these anyway");
	for (unsigned int group = 1; group & (DENY_ALL | DENY_NET); group <<= 1)
		if (group & (TESTED | DENY_NET))
			check_group(group);
}

DEFINE_TEST(confine_calls_all)
{
	pthread_t t;

	CHECK_EQ(confine_calls(DENY_ALL, NULL), 0);
	refused_calls(TESTED);
	if (TESTED & DENY_FORK) {
		CHECK_EQ(fork(), -1);
		CHECK_EQ(errno, EPERM);
	}
	/* Threads, and what a process does to itself, go on. */
	CHECK(!pthread_create(&t, NULL, nothing, NULL));
	CHECK(!pthread_join(t, NULL));
	CHECK_EQ(kill(getpid(), 0), 0);
	CHECK_EQ(raise(0), 0);
	CHECK_EQ(status("NoNewPrivs"), 1);
	CHECK_EQ(status("Seccomp"), 2);
}

DEFINE_TEST(confine_paths_to_those_named)
{
	struct confine_path paths[3] = { { .path = "/nonexistent" } };
	struct err err = { 0 };
	char dir[512];
	int r;

	test_file("read/file", "text");
	test_file("write/file", "text");
	test_file("other/file", "text");
	CHECK(!chdir(test_dir()));
	paths[1].path = "read";
	paths[2] = (struct confine_path){ "write", true };
	snprintf(dir, sizeof(dir), "%s/write", test_dir());
	r = confine_paths(paths, ARRAY_SIZE(paths), &err);
	if (r == -EOPNOTSUPP)
		SKIP("%s", err.text);
	CHECK_EQ(r, 0);
	CHECK_EQ(TRY(open("read/file", O_RDONLY)), 0);
	CHECK_EQ(TRY(open("read/file", O_WRONLY)), EACCES);
	CHECK_EQ(TRY(open("read/new", O_WRONLY | O_CREAT, 0600)), EACCES);
	CHECK_EQ(TRY(open("write/new", O_WRONLY | O_CREAT | O_TRUNC, 0600)), 0);
	CHECK_EQ(TRY(rename("write/new", "write/file")), 0);
	CHECK_EQ(TRY(unlink("write/file")), 0);
	CHECK_EQ(TRY(mknod("write/node", S_IFBLK | 0600, 0x700)), EACCES);
	CHECK_EQ(TRY(open("other/file", O_RDONLY)), EACCES);
	CHECK_EQ(TRY(open("/dev/null", O_RDONLY)), EACCES);
	CHECK_EQ(TRY(open("other", O_RDONLY | O_DIRECTORY)), 0);
}
