// SPDX-License-Identifier: GPL-2.0-or-later
#include "nvml_ask.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/child.h"
#include "backend/internal.h"
#include "backend/program.h"
#include "daemons.h"
#include "pcidevfs/confine.h"
#include "pcidevfs/err.h"
#include "pcidevfs/in_root.h"
#include "pcidevfs/io.h"
#include "pcidevfs/step.h"
#include "pcidevfs/util.h"

#define PROGRAM "pcidevfs-nvml"
#define NO_LIBRARY 1000
#ifdef __aarch64__
#define LOADER "lib/ld-linux-aarch64.so.1"
#else
#define LOADER "lib64/ld-linux-x86-64.so.2"
#endif

/* ---- requests, and their answers */

static enum nvml_rights rights_of(const char *request)
{
	static const struct {
		const char *name;
		enum nvml_rights rights;
	} rows[] = {
#define REQUEST(name, args, help, rights, run) { name, rights },
#include "nvml_requests.def"
	};
	size_t len = strcspn(request, " ");

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (strlen(rows[i].name) == len && !strncmp(rows[i].name, request, len))
			return rows[i].rights;
	return NOBODY;
}

static int code_of(int number)
{
	static const struct {
		int number, code;
	} answers[] = {
#define ANSWER(number, code, cause) { number, code },
#include "nvml_answers.def"
	};

	for (size_t i = 0; i < ARRAY_SIZE(answers); i++)
		if (answers[i].number == number)
			/* ETIMEDOUT is for a program that was killed. */
			return answers[i].code == ETIMEDOUT ? EIO : answers[i].code;
	return EIO;
}

/* Names may be in any script. */
static bool is_clean(const char *text, size_t len)
{
	for (size_t at = 0; at < len; at++) {
		at += str_clean_len(text + at, len - at);
		if (at < len && text[at] != '\n' && text[at] != '\t')
			return false;
	}
	return true;
}

static size_t whole_lines(const char *text, size_t len)
{
	while (len && text[len - 1] != '\n')
		len--;
	return len;
}

int nvml_check(const char *text, size_t len, int *ret_number)
{
	const char *last = text + len;
	char line[16];
	uint64_t number;

	if (!len || text[len - 1] != '\n' || !is_clean(text, len))
		return -EBADMSG;
	for (last--; last > text && last[-1] != '\n';)
		last--;
	if ((size_t)snprintf(line, sizeof(line), "%.*s", (int)strcspn(last, "\n"), last) >=
		    sizeof(line) ||
	    strncmp(line, "end ", 4) || parse_u64(line + 4, INT_MAX, &number))
		return -EBADMSG;
	*ret_number = (int)number;
	return (int)(last - text);
}

/* ---- the program's process */

int nvml_open_program(void)
{
	static const char *const places[] = { PROGRAM, "../libexec/pcidevfs/" PROGRAM };
	char own[PATH_MAX], path[PATH_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	int rc = -ENOENT;

	own[n > 0 ? n : 0] = '\0';
	*(strrchr(own, '/') ?: own) = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(places) && rc == -ENOENT; i++) {
		_close_ int fd = -1;
		struct stat st;

		snprintf(path, sizeof(path), "%s/%s", own, places[i]);
		fd = open(path, O_PATH | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &st))
			rc = -errno;
		else if (!S_ISREG(st.st_mode) || (st.st_uid && st.st_uid != geteuid()) ||
			 st.st_mode & (S_IWGRP | S_IWOTH))
			rc = -EPERM;
		else
			return steal_fd(&fd);
	}
	return rc;
}

enum { PROGRAM_FD = STDERR_FILENO + 1, ROOT_FD, WORDS_MAX = 8 };

struct nvml_call {
	const struct nvml_place *at;
	const char *root;
	int root_fd, answer;
	bool enters; /* the root */
	const char *request;
	unsigned int ms;
};

/* At the latest then, even if nobody is left to kill it. */
static void limit(unsigned int ms)
{
	const struct rlimit size = { NVML_ANSWER, NVML_ANSWER };
	const struct itimerval at = { .it_value = { ms / 1000, ms % 1000 * 1000 } };

	signal(SIGALRM, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	if (setrlimit(RLIMIT_FSIZE, &size) || setitimer(ITIMER_REAL, &at, NULL))
		_exit(126);
}

/* The rights of a query are given up before a foreign loader runs. */
static void enter_root(const struct nvml_call *c)
{
	if (fchdir(ROOT_FD) || chroot("."))
		_exit(126);
	confine_calls(DENY_CHROOT, NULL);
	if (rights_of(c->request) == NOBODY && !geteuid() &&
	    (setgroups(0, NULL) || setresgid(NOBODY_ID, NOBODY_ID, NOBODY_ID) ||
	     setresuid(NOBODY_ID, NOBODY_ID, NOBODY_ID)))
		_exit(126);
}

static void become_nvml(const void *ctx, int out)
{
	const struct nvml_call *c = ctx;
	/* The root's loader runs before the program can give up what its request does not need. */
	const bool foreign = c->enters && rights_of(c->request) != ROOT;
	const uint64_t keep = foreign ? 0 : ~UINT64_C(0) & ~(CAP(SYS_PTRACE) | CAP(SYS_CHROOT));
	char words[NAME_MAX], *save = NULL;
	char *argv[WORDS_MAX + 7] = { (char *)PROGRAM,	   (char *)"--root", (char *)c->root,
				      (char *)"--root-fd", (char *)"4",	     (char *)"--" };
	char *const nothing[] = { NULL };
	int fds[] = { c->answer, out, c->at->program, c->root_fd }, argc = 6;

	_Static_assert(ROOT_FD == 4, "the argument above");
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = fcntl(fds[i], F_DUPFD, 10);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (dup2(i ? fds[i] : STDOUT_FILENO, i ? (int)i + 1 : STDIN_FILENO) < 0)
			_exit(126);
	if (dup2(fds[0], STDOUT_FILENO) < 0)
		_exit(126);
	closefrom(ROOT_FD + 1);
	fcntl(PROGRAM_FD, F_SETFD, FD_CLOEXEC);
	STR_COPY(words, c->request);
	for (char *w = strtok_r(words, " ", &save); w && argc < 6 + WORDS_MAX;
	     w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	limit(c->ms + PROGRAM_KILL_MS);
	if (c->enters)
		enter_root(c);
	if (confine_caps(keep, keep, NULL))
		_exit(126);
	syscall(SYS_execveat, PROGRAM_FD, "", argv, nothing, AT_EMPTY_PATH);
	dprintf(STDERR_FILENO, "exec: %s\n", strerror(errno));
	_exit(126);
}

static int take_answer(const struct nvml_call *c, struct child *child, struct out *answer,
		       int *ret_number, struct err *err)
{
	_free_ char *text = malloc(NVML_ANSWER);
	ssize_t n = text ? pread(c->answer, text, NVML_ANSWER, 0) : -1;
	int len = n < 0 ? -ENOMEM : nvml_check(text, (size_t)n, ret_number);

	if (n == NVML_ANSWER)
		return fail(err, EIO, "%s answered with more than %d bytes and was ended",
			    child->name, NVML_ANSWER);
	if (n > 0 && is_clean(text, (size_t)n))
		out_put(answer, text, len < 0 ? whole_lines(text, (size_t)n) : (size_t)len);
	if (child->late || len < 0)
		return child_tell(child, err)
			       ?: fail(err, EIO, "%s answered with something else than lines",
				       child->name);
	if (*ret_number)
		return fail(err, code_of(*ret_number), "%s", child_said(child));
	return 0;
}

static int try_ask(struct nvml_call *c, struct child *child, struct out *answer, int *ret_number,
		   struct err *err)
{
	int rc;

	*ret_number = 0;
	c->answer = memfd_create("answer", MFD_CLOEXEC);
	if (c->answer < 0)
		return fail(err, errno, "no memory for an answer: %s", strerror(errno));
	rc = child_run(child, c->ms, err);
	rc = rc ? rc : take_answer(c, child, answer, ret_number, err);
	close(c->answer);
	return rc;
}

/* Could nobody but root have put there what the loader is found by, and what it loads? */
static bool is_only_roots(int root)
{
	static const char *const parts[] = { "etc",	"lib",	     "lib64", "usr",
					     "usr/lib", "usr/lib64", LOADER };
	bool only = only_roots(root);

	for (size_t i = 0; i < ARRAY_SIZE(parts) && only; i++) {
		_close_ int fd = open_in_root(root, parts[i]);

		only = only_roots(fd) || (fd < 0 && errno == ENOENT && strcmp(parts[i], LOADER));
	}
	return only;
}

/* Has it a loader and nodes of its own, as the root of a driver in a container, and this process's
 * proc, by which the library is loaded? */
static bool is_whole(int root)
{
	_close_ int node = open_in_root(root, "dev/nvidiactl"),
		    fds = open_in_root(root, "proc/self/fd");
	struct stat own, at, st;
	struct statfs fs;

	return is_only_roots(root) && node >= 0 && !fstat(node, &st) && S_ISCHR(st.st_mode) &&
	       fds >= 0 && !fstatfs(fds, &fs) && fs.f_type == PROC_SUPER_MAGIC &&
	       !stat("/", &own) && !fstat(root, &at) &&
	       (own.st_dev != at.st_dev || own.st_ino != at.st_ino);
}

/* Did the root's loader refuse the program, for example because its libc is older than ours? */
static bool never_ran(const struct child *child, int number)
{
	return !child->late && WIFEXITED(child->status) && WEXITSTATUS(child->status) && !number;
}

/* Sets *ret_number to the answer of the library; 0: there is none, or it did what it should. Where
 * it can be, loader, libc, library and nodes are of one piece. */
static int ask_below(struct nvml_call *c, struct out *answer, int *ret_number, struct err *err)
{
	char name[NAME_MAX];
	struct child child = { .name = name, .become = become_nvml, .ctx = c };
	int rc;

	snprintf(name, sizeof(name), PROGRAM " %.80s", c->request);
	c->enters = !confine_lacks(CAP(SYS_CHROOT)) && is_whole(c->root_fd);
	rc = try_ask(c, &child, answer, ret_number, err);
	if (!rc || !c->enters || !never_ran(&child, *ret_number))
		return rc;
	c->enters = false;
	child = (struct child){ .name = name, .become = become_nvml, .ctx = c };
	return try_ask(c, &child, answer, ret_number, err);
}

/* ---- where the library is: each time anew, since a driver that comes in a container comes late */

struct nvml_search {
	struct nvml_call *call;
	struct out *answer;
	char *ret_root; /* NULL: nobody asks */
	struct err *err;
	int rc;
	bool found;
};

static void try_root(struct nvml_search *s, int dir, const char *path, const char *name)
{
	_close_ int fd = openat(dir, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int number;

	if (fd < 0)
		return;
	s->call->root = name;
	s->call->root_fd = fd;
	s->rc = ask_below(s->call, s->answer, &number, s->err);
	s->found = number != NO_LIBRARY;
	if (s->found && s->ret_root)
		str_copy(s->ret_root, NVML_ROOT, name);
}

static bool try_daemon(void *ctx, int dir, const char *pid, const char *name)
{
	struct nvml_search *s = ctx;
	char root[NVML_ROOT];

	snprintf(root, sizeof(root), "/proc/%.10s/root", pid);
	try_root(s, dir, "root", root);
	return !s->found;
}

int nvml_run(const struct nvml_place *at, const char *request, unsigned int ms, struct out *answer,
	     char *ret_root, struct err *err)
{
	struct nvml_call call = { .at = at, .request = request, .ms = ms };
	struct nvml_search s = { &call, answer, ret_root, err, 0, false };
	const char *const *root = driver_roots;
	uint64_t lacks = confine_lacks(CAP(SETUID) | CAP(SETGID));

	/* Helpers of one kind have these, those of the other SYS_ADMIN. */
	if (!geteuid() && lacks && confine_lacks(CAP(SYS_ADMIN)))
		return fail(err, EOPNOTSUPP, "NVIDIA's library is not asked: the daemon lacks %s",
			    confine_name(lacks));
	if (at->program < 0)
		return fail(err, EOPNOTSUPP,
			    PROGRAM " is not beside pcidevfsd or in ../libexec/pcidevfs, or others "
				    "than root can write it: NVIDIA's library is not asked");
	if (at->driver[0]) {
		try_root(&s, AT_FDCWD, at->driver, at->driver);
		return s.found || s.rc
			       ? s.rc
			       : fail(err, EOPNOTSUPP, "the driver's root %s cannot be opened: %s",
				      at->driver, strerror(errno));
	}
	for (; *root && !s.found; root++)
		try_root(&s, AT_FDCWD, *root, *root);
	if (!s.found)
		daemons_each(at->s, CAP(SYS_ADMIN) | CAP(SYS_MODULE), try_daemon, &s);
	return s.found ? s.rc
		       : fail(err, EOPNOTSUPP,
			      "neither %s nor %s, nor the root of a running nvidia-vgpud, has "
			      "libnvidia-ml.so.1: install the driver, or name its root with "
			      "--driver-root",
			      driver_roots[0], driver_roots[1]);
}

int nvml_exec(const struct nvml_place *at, const char *request, unsigned int ms, struct out *said)
{
	struct err err = { 0 };
	struct out lines = { 0 };
	int rc = nvml_run(at, request, ms, &lines, NULL, &err);

	out_put(said, rc ? err.text : out_text(&lines), rc ? strlen(err.text) : lines.len);
	said->failed |= lines.failed;
	out_free(&lines);
	return rc;
}

/* ---- in the daemon */

int nvml_ask(struct backend *b, struct step *step, unsigned int ms, const char *request,
	     struct out *answer, struct err *err)
{
	/* The helper of a query has no right to set anything, whatever it is asked. */
	bool asks = rights_of(request) != ROOT;
	const char *const argv[] = { asks ? "nvml" : "nvml_set", request, NULL };
	struct out said = { 0 };
	int rc = io_call(b->io, argv, ms, &said, asks ? NULL : &step->late, &step->helper);

	if (!rc)
		out_put(answer, out_text(&said), said.len);
	else if (said.len)
		fail(err, -rc, "%s", out_text(&said));
	else if (rc == -ETIMEDOUT)
		fail(err, ETIMEDOUT,
		     PROGRAM " %s did not end within %u ms and cannot be killed: it waits in the "
			     "kernel",
		     request, ms);
	else
		fail(err, -rc, PROGRAM " %s: %s", request,
		     rc == -ECHILD ? "no helper process could be started" : strerror(-rc));
	out_free(&said);
	confine_tell(io_lacks(b->io, argv[0]), rc, err);
	return !rc && answer->failed ? fail_nomem(err) : rc;
}
