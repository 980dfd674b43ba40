// SPDX-License-Identifier: GPL-2.0-or-later
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/gpu/daemons.h"
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

/* A script's interpreter opens the file by this number, so it must stay open over the exec. */
static void __attribute__((noreturn))
become_program(const struct program *p, const struct opened *o, char *const *words, int out)
{
	char *const argv[] = { (char *)p->name, words[1], words[2], NULL };
	char *const nothing[] = { NULL };
	int file = fcntl(o->program, F_DUPFD, 10), to = fcntl(out, F_DUPFD, 10);

	if (fchdir(o->root))
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
	_exit(126);
}

/* ---- its output and its end */

enum { TAIL = 240 };

struct running {
	pid_t pid;
	int pidfd;
	int out;
	bool ended;
	bool cut; /* there was more before the tail */
	size_t n;
	char tail[TAIL + 1];
};

static void keep_tail(struct running *r, const char *text, size_t n)
{
	size_t keep;

	r->cut |= r->n + n > TAIL;
	if (n > TAIL) {
		text += n - TAIL;
		n = TAIL;
	}
	keep = r->n + n > TAIL ? TAIL - n : r->n;
	memmove(r->tail, r->tail + r->n - keep, keep);
	memcpy(r->tail + keep, text, n);
	r->n = keep + n;
}

/* Returns -1 if more may come later. */
static ssize_t take_output(struct running *r)
{
	char text[16384];
	ssize_t n = read(r->out, text, sizeof(text));

	if (n > 0)
		keep_tail(r, text, (size_t)n);
	if (!n) {
		close(r->out);
		r->out = -1;
	}
	return n;
}

/* Waits until the program and all its children are gone; `until` 0: without limit. */
static void follow(struct running *r, uint64_t until)
{
	while (!r->ended && (!until || now_ms() < until)) {
		struct pollfd p[] = { { .fd = r->pidfd, .events = POLLIN },
				      { .fd = r->out, .events = POLLIN } };
		uint64_t now = now_ms();

		poll(p, ARRAY_SIZE(p), !until ? -1 : until > now ? (int)(until - now) : 0);
		r->ended = p[0].revents;
		if (p[1].revents)
			take_output(r);
	}
	for (ssize_t n = 1; r->ended && r->out >= 0 && n > 0;)
		n = take_output(r);
}

/* The last whole lines, joined. */
static const char *last_lines(struct running *r)
{
	char *text = r->tail, *line;

	while (r->n && strchr("\n\r\t ", text[r->n - 1]))
		r->n--;
	text[r->n] = '\0';
	line = r->cut ? strchr(text, '\n') : NULL;
	text = line ? line + 1 : text;
	for (char *p = text; *p; p++)
		if (*p == '\n')
			*p = ';';
	return *text ? text : "it printed nothing";
}

static int tell_end(struct running *r, const struct program *p, unsigned int ms, bool late,
		    struct err *err)
{
	int status = 0;

	waitpid(r->pid, &status, __WALL);
	if (late)
		return fail(err, ETIMEDOUT, "%s did not end within %u ms and was killed: %s",
			    p->name, ms, last_lines(r));
	if (WIFSIGNALED(status))
		return fail(err, EIO, "%s was killed by signal %d: %s", p->name, WTERMSIG(status),
			    last_lines(r));
	if (WEXITSTATUS(status))
		return fail(err, EIO, "%s ended with status %d: %s", p->name, WEXITSTATUS(status),
			    last_lines(r));
	return 0;
}

static int start(struct running *r, const struct program *p, const struct opened *o,
		 char *const *words, struct err *err)
{
	int pair[2];

	if (pipe2(pair, O_CLOEXEC))
		return fail(err, errno, "no pipe for %s: %s", p->name, strerror(errno));
	/* The program is process 1 of its namespace: at its end the kernel kills the others
	 * there. */
	r->pid = (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, NULL, NULL, NULL, 0);
	if (!r->pid)
		become_program(p, o, words, pair[1]);
	close(pair[1]);
	r->out = pair[0];
	if (r->pid < 0)
		return fail(err, errno, "%s cannot be started: %s", p->name, strerror(errno));
	fcntl(r->out, F_SETFL, O_NONBLOCK);
	r->pidfd = (int)syscall(SYS_pidfd_open, r->pid, 0);
	return 0;
}

/* Without a pidfd (no descriptors) its end is not noticed in time: it is killed and said to be
 * late. */
static int run(const struct program *p, const struct opened *o, char *const *words, unsigned int ms,
	       struct err *err)
{
	struct running r = { .pidfd = -1, .out = -1 };
	int rc = start(&r, p, o, words, err);
	bool late;

	if (!rc) {
		follow(&r, r.pidfd < 0 ? 1 : now_ms() + ms);
		late = !r.ended;
		if (late)
			kill(r.pid, SIGKILL);
		if (late && r.pidfd >= 0)
			follow(&r, 0);
		rc = tell_end(&r, p, ms, late, err);
	}
	closep(&r.pidfd);
	closep(&r.out);
	return rc;
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

/* Looked for each time: a driver that comes in a container may come late. The first root that has
 * the program counts, even if the program cannot be trusted there. */
static int find_file(const struct sysfs *s, const char *driver, const struct program *p,
		     struct opened *o, struct err *err)
{
	/* The host's own; where NVIDIA's GPU operator has that of its driver container. */
	static const char *const usual[] = { "/", "/run/nvidia/driver" };
	int rc = -EOPNOTSUPP;

	if (driver[0])
		return open_below(driver, p, o, err);
	for (size_t i = 0; i < ARRAY_SIZE(usual) && rc == -EOPNOTSUPP; i++)
		rc = open_below(usual[i], p, o, err);
	rc = rc == -EOPNOTSUPP ? open_below_daemon(s, p, o, err) : rc;
	return rc != -EOPNOTSUPP
		       ? rc
		       : fail(err, EOPNOTSUPP,
			      "neither %s nor %s, nor the root of a running nvidia-vgpud, has %s: "
			      "install the driver, or name its root with --driver-root",
			      usual[0], usual[1], p->path);
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
