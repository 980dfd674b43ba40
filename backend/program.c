// SPDX-License-Identifier: GPL-2.0-or-later
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/gpu/daemons.h"
#include "child.h"
#include "pcidevfs/confine.h"
#include "pcidevfs/err.h"
#include "pcidevfs/io.h"
#include "pcidevfs/key.h"
#include "pcidevfs/util.h"

/* Programs that may be run. No part of a path may be a link. */
static const struct program {
	const char *name;
	const char *path; /* below the driver's root */
	const char *options[4];
} programs[] = {
	/* A script that makes or removes all VFs of a GPU. */
	{ "sriov-manage", "usr/lib/nvidia/sriov-manage", { "-e", "-d" } },
};

static const struct program *find_program(char *const *words)
{
	struct pci_addr addr;

	for (const struct program *p = programs; p < programs + ARRAY_SIZE(programs); p++) {
		if (strcmp(p->name, words[0]))
			continue;
		for (const char *const *option = p->options; *option; option++)
			if (!strcmp(*option, words[1]))
				return pci_addr_parse(words[2], &addr) ? p : NULL;
	}
	return NULL;
}

/* ---- finding the file */

struct opened {
	int root, program; /* < 0: not yet */
};

/* Checks that fd has the right type and that only root can change it. */
static int check_file(int fd, mode_t type, const char *driver, const char *path, struct err *err)
{
	const char *slash = driver[strlen(driver) - 1] == '/' ? "" : "/";
	struct stat st;

	if (fstat(fd, &st))
		return fail(err, errno, "%s%s%s: %s", driver, slash, path, strerror(errno));
	if ((st.st_mode & S_IFMT) != type)
		return fail(err, EPERM, "%s%s%s is not a %s, so nothing there is run", driver,
			    slash, path, type == S_IFDIR ? "directory" : "regular file");
	if (st.st_uid || st.st_mode & (S_IWGRP | S_IWOTH))
		return fail(
			err, EPERM,
			"%s%s%s must belong to root and be writable by root alone, else nothing "
			"there is run",
			driver, slash, path);
	return 0;
}

/* Each directory is checked by the descriptor that leads on from it. Links are never followed. */
static int open_program(int root, const char *driver, const char *path, int *ret, struct err *err)
{
	_close_ int at = fcntl(root, F_DUPFD_CLOEXEC, 0);
	int rc = check_file(at, S_IFDIR, driver, "", err);
	char so_far[256] = "";

	for (const char *end = path; !rc && *path; path = end + (*end == '/')) {
		int len, next;
		char name[64];

		end = strchrnul(path, '/');
		len = (int)(end - path);
		snprintf(name, sizeof(name), "%.*s", len, path);
		snprintf(so_far + strlen(so_far), sizeof(so_far) - strlen(so_far), "%s%s",
			 *so_far ? "/" : "", name);
		next = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return fail(err, errno == ENOENT ? EOPNOTSUPP : errno,
				    "%s has no %s: install the driver there, or name its root with "
				    "--driver-root",
				    driver, so_far);
		close(at);
		at = next;
		rc = check_file(at, *end ? S_IFDIR : S_IFREG, driver, so_far, err);
	}
	if (!rc)
		*ret = steal_fd(&at);
	return rc;
}

/* ---- the program's process */

enum { PROGRAM_FD = STDERR_FILENO + 1 };

/* The helper's filter and no_new_privs hold here too. */
static void give_up_entering(void)
{
	uint64_t keep = ~UINT64_C(0) & ~(CAP(SYS_CHROOT) | CAP(SYS_PTRACE));

	if (confine_caps(keep, keep, NULL))
		_exit(126);
	confine_calls(DENY_CHROOT, NULL);
}

static void die(const char *what)
{
	dprintf(STDERR_FILENO, "%s: %s\n", what, strerror(errno));
	_exit(126);
}

/* Ends with the helper. It may have ended before this call: then nobody reads. */
static void end_with_helper(void)
{
	struct pollfd p = { .fd = STDOUT_FILENO };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (poll(&p, 1, 0) && p.revents & POLLERR)
		_exit(126);
}

struct to_become {
	const struct program *program;
	const struct opened *o;
	char *const *words;
};

/* A script's interpreter opens the file by this number, so it must stay open over the exec. */
static void become_program(const void *ctx, int out)
{
	const struct to_become *what = ctx;
	char *const argv[] = { (char *)what->program->name, what->words[1], what->words[2], NULL };
	char *const nothing[] = { NULL };
	int file = fcntl(what->o->program, F_DUPFD, 10), to = fcntl(out, F_DUPFD, 10);

	if (fchdir(what->o->root))
		_exit(126);
	setsid();
	signal(SIGPIPE, SIG_DFL);
	if (dup2(STDOUT_FILENO, STDIN_FILENO) < 0 || dup2(to, STDOUT_FILENO) < 0 ||
	    dup2(to, STDERR_FILENO) < 0 || dup2(file, PROGRAM_FD) < 0)
		_exit(126);
	closefrom(PROGRAM_FD + 1);
	end_with_helper();
	if (chroot("."))
		die("chroot");
	give_up_entering();
	umask(022);
	syscall(SYS_execveat, PROGRAM_FD, "", argv, nothing, AT_EMPTY_PATH);
	die("exec");
}

static int run(const struct program *p, const struct opened *o, char *const *words, unsigned int ms,
	       struct err *err)
{
	const struct to_become what = { p, o, words };
	struct child c = { .name = p->name, .alone = true, .become = become_program, .ctx = &what };
	int rc = child_run(&c, ms, err);

	return rc ? rc : child_tell(&c, err);
}

static int open_below(const char *driver, const struct program *p, struct opened *o,
		      struct err *err)
{
	closep(&o->root);
	o->root = open(driver, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (o->root < 0)
		return fail(err, errno == ENOENT ? EOPNOTSUPP : errno,
			    "the driver's root %s cannot be opened: %s", driver, strerror(errno));
	return open_program(o->root, driver, p->path, &o->program, err);
}

struct driver_search {
	const struct program *program;
	struct opened *o;
	int rc;
	struct err *err;
};

static bool try_daemon(void *ctx, int dir, const char *pid, const char *name)
{
	struct driver_search *s = ctx;
	char driver[32];

	snprintf(driver, sizeof(driver), "/proc/%.10s/root", pid);
	closep(&s->o->root);
	s->o->root = openat(dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (s->o->root >= 0)
		s->rc = open_program(s->o->root, driver, s->program->path, &s->o->program, s->err);
	return s->rc == -EOPNOTSUPP;
}

/* In the root of NVIDIA's daemon, wherever its container is. A process that can load modules gains
 * nothing by being believed. */
static int open_below_daemon(const struct sysfs *sys, const struct program *p, struct opened *o,
			     struct err *err)
{
	struct driver_search s = { p, o, -EOPNOTSUPP, err };

	daemons_each(sys, CAP(SYS_ADMIN) | CAP(SYS_MODULE), try_daemon, &s);
	return s.rc;
}

const char *const driver_roots[] = { "/", "/run/nvidia/driver", NULL };

/* Looked for each time: a driver that comes in a container may come late. The first root that has
 * the program counts, even if the program cannot be trusted there. */
static int find_file(const struct sysfs *s, const char *driver, const struct program *p,
		     struct opened *o, struct err *err)
{
	int rc = -EOPNOTSUPP;

	if (driver[0])
		return open_below(driver, p, o, err);
	for (const char *const *root = driver_roots; *root && rc == -EOPNOTSUPP; root++)
		rc = open_below(*root, p, o, err);
	rc = rc == -EOPNOTSUPP ? open_below_daemon(s, p, o, err) : rc;
	return rc != -EOPNOTSUPP
		       ? rc
		       : fail(err, EOPNOTSUPP,
			      "neither %s nor %s, nor the root of a running nvidia-vgpud, has %s: "
			      "install the driver, or name its root with --driver-root",
			      driver_roots[0], driver_roots[1], p->path);
}

static int find_and_run(const struct sysfs *s, const char *driver, char *const *words,
			unsigned int ms, struct opened *o, struct err *err)
{
	const struct program *p = find_program(words);
	int rc;

	if (!p)
		return fail(err, EINVAL, "%s %s %s is not among the programs that are run",
			    words[0], words[1], words[2]);
	if (confine_lacks(CAP(SYS_ADMIN) | CAP(SYS_CHROOT)))
		return fail(err, EPERM, "%s cannot be started", p->name);
	rc = find_file(s, driver, p, o, err);
	return rc ? rc : run(p, o, words, ms, err);
}

int program_exec(const struct sysfs *s, const char *driver, char *const *words, unsigned int ms,
		 struct out *said)
{
	struct opened o = { -1, -1 };
	struct err err = { 0 };
	int rc = find_and_run(s, driver, words, ms, &o, &err);

	closep(&o.root);
	closep(&o.program);
	if (rc)
		out_put(said, err.text, strlen(err.text));
	return rc;
}

/* ---- in the daemon */

int program_run(struct io *io, const char *name, const char *option, const char *address,
		unsigned int ms, void **ret_late, struct helper_id *who, struct err *err)
{
	const char *const argv[] = { "program", name, option, address, NULL };
	struct out said = { 0 };
	int rc = io_call(io, argv, ms, &said, ret_late, who);

	if (rc && said.len)
		fail(err, -rc, "%s", out_text(&said));
	else if (rc == -ETIMEDOUT)
		fail(err, ETIMEDOUT,
		     "%s for %s did not end within %u ms and cannot be killed: it waits in the "
		     "kernel",
		     name, address, ms);
	else if (rc)
		fail(err, -rc, "%s for %s: %s", name, address,
		     rc == -ECHILD ? "no helper process could be started" : strerror(-rc));
	out_free(&said);
	/* It may have failed for a lack that only it knows. */
	confine_tell(io_lacks(io, argv[0]), rc == -EIO ? -EPERM : rc, err);
	return rc;
}
