// SPDX-License-Identifier: GPL-2.0-or-later
/* For tests: tries what foreign code in the serving process would. All of it must fail. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "confined.h"
#include "options.h"
#include "pcidevfs/backend.h"
#include "pcidevfs/err.h"
#include "pcidevfs/io.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"

static int try_exec(const struct options *o)
{
	char *const argv[] = { (char *)"sh", (char *)"-c", (char *)"echo executed >&2", NULL };

	(void)o;
	return execv("/bin/sh", argv);
}

static int try_fork(const struct options *o)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	(void)o;
	if (!pid)
		_exit(0);
	return pid;
}

static int try_ptrace(const struct options *o)
{
	(void)o;
	return (int)ptrace(PTRACE_SEIZE, getppid(), 0, 0);
}

static int try_memory(const struct options *o)
{
	char path[64];

	(void)o;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)getppid());
	return open(path, O_RDWR | O_CLOEXEC);
}

static int try_module(const struct options *o)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)o;
	return (int)syscall(SYS_finit_module, fd, "", 0);
}

static int try_mount(const struct options *o)
{
	return mount("none", o->state, "tmpfs", 0, NULL);
}

static int try_unmount(const struct options *o)
{
	return umount2(o->mountpoint, MNT_DETACH);
}

static int try_namespace(const struct options *o)
{
	int fd = open("/proc/1/ns/mnt", O_RDONLY | O_CLOEXEC);

	(void)o;
	return setns(fd < 0 ? open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC) : fd, 0);
}

static int try_kill(const struct options *o)
{
	(void)o;
	return kill(getppid(), 0);
}

static int try_owner(const struct options *o)
{
	(void)o;
	return fcntl(STDERR_FILENO, F_SETOWN, getppid());
}

static int try_node(const struct options *o)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/node", o->state);
	return mknod(path, S_IFBLK | 0600, makedev(7, 0));
}

/* The block device is made by the test. */
static int try_block(const struct options *o)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/../block", o->state);
	return open(path, O_RDWR | O_CLOEXEC);
}

static int try_file(const struct options *o)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/../foreign", o->state);
	return open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
}

static int try_sysfs(const struct options *o)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/bus/pci/drivers_probe", o->sysfs);
	return open(path, O_WRONLY | O_CLOEXEC);
}

static int ask_for_program(const struct roots *roots, const char *name, const char *option)
{
	const char *const argv[] = { "program", name, option, "0000:08:00.0", NULL };
	struct err err = { 0 };
	struct io *io;
	int r = io_new(roots, &io, &err);

	if (!r) {
		r = io_call(io, argv, 60000, NULL, NULL, NULL);
		io_free(io);
	}
	return r;
}

/* Only programs that have a row may be run. */
static void ask_for_programs(const struct roots *roots)
{
	static const struct {
		const char *name, *option;
	} rows[] = {
		{ "sh", "-c" },
		{ "../../../bin/sh", "-c" },
		{ "sriov-manage", "-c" },
		{ "sriov-manage", "-d" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		say("foreign code: program %s %s: %s", rows[i].name, rows[i].option,
		    err_name(-ask_for_program(roots, rows[i].name, rows[i].option)));
}

void foreign_code(const struct options *o, const struct roots *roots)
{
	static const struct {
		const char *name;
		int (*try)(const struct options *o);
	} ops[] = {
		{ "exec", try_exec },	  { "fork", try_fork },	      { "ptrace", try_ptrace },
		{ "memory", try_memory }, { "module", try_module },   { "mount", try_mount },
		{ "unmount", try_unmount }, { "namespace", try_namespace }, { "kill", try_kill },
		{ "owner", try_owner },	  { "node", try_node },	      { "block", try_block },
		{ "file", try_file },	  { "sysfs", try_sysfs },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		int r = ops[i].try(o);

		say("foreign code: %s: %s", ops[i].name, r < 0 ? err_name(errno) : "done");
	}
	ask_for_programs(roots);
}
