// SPDX-License-Identifier: GPL-2.0-or-later
#include "access.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/file.h"
#include "pcidevfs/err.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"

enum {
	ROOM = 64 << 20,       /* an inventory of 4096 devices takes a tenth */
	PIECE = 65536,	       /* what one write(2) to ctl takes */
	READ_MS = 10000,       /* the tree answers reads from memory */
	WRITE_MS = 15 * 60000, /* each step has a deadline of its own in the daemon */
	INPUT_MS = 60000,      /* somebody may type a password for what writes to our stdin */
};

/* Seen by both processes: what is accessed now, and until when that may take. */
struct desk {
	_Atomic uint64_t until; /* of now_ms(); UINT64_MAX: nothing is */
	_Atomic bool writes;
	char path[4096];
};

/* ---- the process that waits */

/* Returns 0 once the other process has ended, which closes its end of the pipe; ETIMEDOUT: it is
 * too late; EINTR: this process is to end. */
static int await(const struct cli *cli, int pipe, int signals)
{
	struct pollfd p[] = { { pipe, POLLIN, 0 }, { signals, POLLIN, 0 } };
	unsigned int most = cli->timeout_ms ?: READ_MS; /* then another access may have begun */
	uint64_t until, now;

	while ((until = cli->desk->until) > (now = now_ms()))
		if (poll(p, 2, (int)(until - now < most ? until - now : most)) > 0)
			return p[1].revents ? EINTR : 0;
	return ETIMEDOUT;
}

/* A signal that is ignored, as below nohup(1), would be heard of while it is blocked. */
static void end_signals(sigset_t *ret)
{
	static const int all[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction how;

	sigemptyset(ret);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (!sigaction(all[i], NULL, &how) && how.sa_handler != SIG_IGN)
			sigaddset(ret, all[i]);
}

/* Whoever does not hear a verdict must not take it for a refusal. */
static void tell_late(const struct desk *d, int code)
{
	const char *how = code == ETIMEDOUT ? "has not answered in time" : "was interrupted";

	if (d->until != UINT64_MAX && d->writes)
		say("%s %s; what has begun goes on, and `pcidevfs log` will have its verdict",
		    d->path, how);
	else if (code != EINTR)
		say("%s %s; the journal of pcidevfsd may tell why", d->path, how);
}

static int pass_on(int from, int to)
{
	char buf[65536];
	ssize_t n;

	lseek(from, 0, SEEK_SET);
	while ((n = read(from, buf, sizeof(buf))) > 0)
		for (ssize_t at = 0, w; at < n; at += w) {
			w = write(to, buf + at, (size_t)(n - at));
			if (w < 0) {
				say("the output cannot be written: %s", strerror(errno));
				return 1;
			}
		}
	return 0;
}

int status_refused(const struct cli *cli)
{
	return cli->verb && cli->verb->refused ? cli->verb->refused : 1;
}

int run_here(struct cli *cli, cli_run *run)
{
	struct err err = { 0 };
	int r = run(cli, &err);

	if (r < 0)
		say("%s", err.text);
	targets_free(&cli->targets);
	tree_inventory_free(&cli->inv);
	return r < 0 ? status_refused(cli) : r;
}

int supervise(struct cli *cli, cli_run *run)
{
	int out = memfd_create("out", MFD_CLOEXEC), err = memfd_create("err", MFD_CLOEXEC);
	int ends[2], status = 0, code;
	pid_t pid = -1;
	sigset_t set;

	cli->desk = mmap(NULL, sizeof(*cli->desk), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (out >= 0 && err >= 0 && cli->desk != MAP_FAILED && !pipe2(ends, O_CLOEXEC)) {
		cli->desk->until = UINT64_MAX;
		pid = fork();
	}
	if (pid < 0) {
		say("no process can be started: %s", strerror(errno));
		return status_refused(cli);
	}
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(out, STDOUT_FILENO);
		dup2(err, STDERR_FILENO);
		status = run_here(cli, run);
		exit(fflush(stdout) ? status_refused(cli) : status);
	}
	close(ends[1]);
	end_signals(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	code = await(cli, ends[0], signalfd(-1, &set, SFD_CLOEXEC));
	if (code)
		kill(pid, SIGKILL); /* not awaited: it may be one that cannot end now */
	else if (waitpid(pid, &status, 0) > 0 && WIFSIGNALED(status))
		code = ECHILD;
	if (code)
		tell_late(cli->desk, code);
	sigprocmask(SIG_UNBLOCK, &set, NULL); /* of a signal that has come this process ends here */
	if (code || pass_on(out, STDOUT_FILENO) | pass_on(err, STDERR_FILENO))
		return status_refused(cli);
	return WEXITSTATUS(status);
}

/* ---- the process that works */

/* Until end() the access may take so long. */
static int begin(struct cli *cli, const char *path, unsigned int ms, struct err *err)
{
	struct desk *d = cli->desk;

	if ((size_t)snprintf(d->path, sizeof(d->path), "%s/%s", cli->tree, path) >= sizeof(d->path))
		return fail(err, ENAMETOOLONG, "%.100s...: too long", path);
	d->writes = ms == WRITE_MS;
	d->until = now_ms() + (cli->timeout_ms ?: ms);
	return 0;
}

static int end(struct cli *cli, const char *path, int code, struct err *err)
{
	cli->desk->until = UINT64_MAX;
	/* Of a file of the root these say that nothing is mounted. */
	if (code == ENOTCONN || code == ECONNABORTED || (code == ENOENT && !strchr(path, '/')))
		return fail(err, code,
			    "there is no tree at %s (%s); start pcidevfsd, or name the place with "
			    "--tree",
			    cli->tree, strerror(code));
	return code ? fail(err, code, "%s/%s: %s%s", cli->tree, path, strerror(code),
			   code == EACCES ? "; it is for root, its owner and its group" : "")
		    : 0;
}

static int read_text(int fd, char **ret_text)
{
	char *text = mmap(NULL, ROOM, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ssize_t n = text == MAP_FAILED ? -ENOMEM : read_all(fd, text, ROOM);
	int code = n < 0 ? (int)-n : n == ROOM ? EFBIG : memchr(text, 0, (size_t)n) ? EILSEQ : 0;

	*ret_text = code ? NULL : strndup(text, (size_t)n);
	if (text != MAP_FAILED)
		munmap(text, ROOM);
	return code ?: *ret_text ? 0 : ENOMEM;
}

int input_read(struct cli *cli, const char *path, char **ret_text, struct err *err)
{
	bool is_stdin = !strcmp(path, "-");
	/* Or else open() waits for a writer of a FIFO. */
	int how = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
	_close_ int opened = is_stdin ? -1 : open(path, how);
	int fd = is_stdin ? STDIN_FILENO : opened;

	if (fd < 0)
		return fail(err, errno, "%s: %s", *path ? path : "''", strerror(errno));
	return small_text(fd, is_stdin ? "stdin" : path,
			  isatty(fd) ? -1 : (int)(cli->timeout_ms ?: INPUT_MS), ret_text, err);
}

static int write_text(int fd, const char *text)
{
	ssize_t w = 0;

	for (size_t at = 0, left = strlen(text), n; left; at += n, left -= n) {
		n = left < PIECE ? left : PIECE;
		w = write(fd, text + at, n);
		if (w != (ssize_t)n)
			return w < 0 ? errno : EIO;
	}
	return 0;
}

int tree_read(struct cli *cli, const char *path, char **ret_text, struct err *err)
{
	return tree_exchange(cli, path, NULL, ret_text, err);
}

char *tree_text(struct cli *cli, const char *fmt, ...)
{
	char path[PATH_MAX], *text = NULL;
	struct err none = { 0 };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	if (tree_read(cli, path, &text, &none))
		return NULL;
	if (*text && text[strlen(text) - 1] == '\n')
		text[strlen(text) - 1] = '\0';
	return text;
}

/* Appends the names in the directory below path; those of files in a directory of its own as
 * "mig/mode". */
static int put_names(const char *path, const char *dir, struct out *ret)
{
	_free_ struct dirent **names = NULL;
	char at[PATH_MAX + NAME_MAX], name[NAME_MAX + 2];
	int n, code;

	snprintf(at, sizeof(at), "%s/%s", path, dir);
	n = scandir(at, &names, NULL, alphasort);
	code = n < 0 ? errno : 0;
	for (int i = 0; i < n; i++) {
		const struct dirent *e = names[i];

		if (e->d_type == DT_DIR && !*dir && e->d_name[0] != '.') {
			snprintf(name, sizeof(name), "%s/", e->d_name);
			put_names(path, name, ret);
		} else if (e->d_name[0] != '.') {
			out_printf(ret, "%s%s\n", dir, e->d_name);
		}
		free(names[i]);
	}
	return code;
}

int tree_names(struct cli *cli, const char *path, char **ret_text, struct err *err)
{
	int r = begin(cli, path, READ_MS, err);
	struct out out = { 0 };

	r = r ?: end(cli, path, put_names(cli->desk->path, "", &out), err);
	if (r)
		out_free(&out);
	else
		*ret_text = out.data ?: strdup("");
	return r;
}

int tree_exchange(struct cli *cli, const char *path, const char *text, char **ret_answer,
		  struct err *err)
{
	int how = !text ? O_RDONLY : ret_answer ? O_RDWR : O_WRONLY;
	int code, fd, unread = 0, r = begin(cli, path, text ? WRITE_MS : READ_MS, err);

	if (r)
		return r;
	fd = open(cli->desk->path, how | O_CLOEXEC | O_NOCTTY);
	code = fd < 0 ? errno : write_text(fd, text ?: "");
	if (fd >= 0 && ret_answer)
		unread = read_text(fd, ret_answer);
	closep(&fd);
	/* A mediated device that ends takes its ctl along: the write was the verdict. */
	if (text && !code && unread == ENODEV)
		unread = 0;
	return end(cli, path, code ?: unread, err);
}

static int read_program(char *const *argv, char **ret_text, int *ret_status)
{
	posix_spawn_file_actions_t actions;
	int ends[2], code;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return errno;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	code = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	if (!code) {
		code = read_text(ends[0], ret_text);
		waitpid(pid, ret_status, 0);
	}
	close(ends[0]);
	return code;
}

int run_program(struct cli *cli, char *const *argv, char **ret_text, struct err *err)
{
	int code, status = 0, r = begin(cli, argv[0], READ_MS, err);

	if (r)
		return r;
	code = read_program(argv, ret_text, &status);
	cli->desk->until = UINT64_MAX;
	if (!code && status)
		return fail(err, EIO, "%s has failed", argv[0]);
	return code ? fail(err, code, "%s: %s", argv[0], strerror(code)) : 0;
}
