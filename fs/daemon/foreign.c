// SPDX-License-Identifier: GPL-2.0-or-later
/* For tests: tries what foreign code in the serving process would. All of it must fail. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "confined.h"
#include "options.h"
#include "pcidevfs/backend.h"
#include "pcidevfs/err.h"
#include "pcidevfs/io.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"

/* r: what the call that was tried has returned just now. */
static void tell(const char *what, long r)
{
	say("foreign code: %s: %s", what, r < 0 ? err_name(errno) : "done");
}

static const char *below(const char *dir, const char *name, char path[static PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%s", dir, name);
	return path;
}

static void try_processes(pid_t parent)
{
	char *const argv[] = { (char *)"sh", (char *)"-c", (char *)"echo executed >&2", NULL };
	char memory[64];
	long pid;

	tell("exec", execv("/bin/sh", argv));
	pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!pid)
		_exit(0);
	tell("fork", pid);
	tell("ptrace", ptrace(PTRACE_SEIZE, parent, 0, 0));
	snprintf(memory, sizeof(memory), "/proc/%d/mem", (int)parent);
	tell("memory", open(memory, O_RDWR | O_CLOEXEC));
	tell("kill", kill(parent, 0));
	tell("owner", fcntl(STDERR_FILENO, F_SETOWN, parent));
}

static void try_system(const struct daemon_options *o)
{
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int space = open("/proc/1/ns/mnt", O_RDONLY | O_CLOEXEC);
	char path[PATH_MAX];

	if (space < 0)
		space = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	tell("module", syscall(SYS_finit_module, self, "", 0));
	tell("mount", mount("none", o->roots.state, "tmpfs", 0, NULL));
	tell("unmount", umount2(o->mountpoint, MNT_DETACH));
	tell("namespace", setns(space, 0));
	tell("node", mknod(below(o->roots.state, "node", path), S_IFBLK | 0600, makedev(7, 0)));
	/* The block device is made by the test. */
	tell("block", open(below(o->roots.state, "../block", path), O_RDWR | O_CLOEXEC));
	tell("file",
	     open(below(o->roots.state, "../foreign", path), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	tell("sysfs",
	     open(below(o->roots.sysfs, "bus/pci/drivers_probe", path), O_WRONLY | O_CLOEXEC));
}

/* Only programs that have a row may be run. */
static void ask_for_programs(const struct roots *roots)
{
	static const char *const rows[][2] = {
		{ "sh", "-c" },
		{ "../../../bin/sh", "-c" },
		{ "sriov-manage", "-c" },
		{ "sriov-manage", "-d" },
	};
	struct err err = { 0 };
	struct io *io;

	if (io_new(roots, &io, &err)) {
		say("foreign code: %s", err.text);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *const argv[] = { "program", rows[i][0], rows[i][1], "0000:08:00.0",
					     NULL };

		say("foreign code: program %s %s: %s", rows[i][0], rows[i][1],
		    err_name(-io_call(io, argv, 60000, NULL, NULL, NULL)));
	}
	io_free(io);
}

void foreign_code(const struct daemon_options *o, const struct roots *roots)
{
	try_processes(getppid());
	try_system(o);
	ask_for_programs(roots);
}
