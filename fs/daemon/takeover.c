// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "takeover.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "handoff.h"
#include "layouts.h"
#include "options.h"
#include "server.h"
#include "pcidevfs/err.h"
#include "pcidevfs/fdmsg.h"
#include "pcidevfs/region.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"

enum { PATIENCE_MS = 5000 };

/* Version of the line below. */
#define ESTATE_ABI 1
#define ESTATE_FORMAT "fuse=%d,stash=%d,listen=%d,conn=%d,former=%d,gen=%u,restarts=%u,dev=%u:%u"

const struct region_head estate_layout = { "estate", ESTATE_ABI, 0 };

const struct takeover takeover_none = { .conn = -1, .exe = -1, .said = -1, .pidfd = -1 };

void takeover_clear(struct takeover *t)
{
	server_reap(&t->pid, &t->pidfd);
	closep(&t->conn);
	closep(&t->exe);
	closep(&t->said);
	*t = takeover_none;
}

static void tell(struct takeover *t, unsigned int report, const char *text)
{
	say("%s", text);
	if (t->conn >= 0)
		(void)!handoff_report(t->conn, report, text);
}

void takeover_refuse(struct takeover *t, const char *text)
{
	tell(t, REPORT_REFUSED, text);
	takeover_clear(t);
}

void takeover_done(struct takeover *t, const char *path)
{
	char text[ERR_TEXT];

	snprintf(text, sizeof(text), "pcidevfsd " VERSION " serves %.300s now (pid %d, as before)",
		 path, (int)getpid());
	tell(t, REPORT_DONE, text);
	takeover_clear(t);
}

uint64_t takeover_until(const struct takeover *t)
{
	return t->state == TAKEOVER_CALLED || t->state == TAKEOVER_ASKING ? t->until : UINT64_MAX;
}

void takeover_call(struct takeover *t, int conn)
{
	if (t->state != TAKEOVER_NONE) {
		handoff_report(conn, REPORT_REFUSED,
			       "another --replace of this daemon is under way; wait for its end "
			       "and try again");
		close(conn);
		return;
	}
	t->conn = conn;
	t->state = TAKEOVER_CALLED;
	t->until = now_ms() + PATIENCE_MS;
}

static void __attribute__((noreturn))
become_asked(int exe, int out, const struct daemon_options *o, const char *mountpoint, pid_t holder)
{
	const char *argv[OPTIONS_ARGV];
	char what[LAYOUTS_TEXT];

	server_child(holder);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	layouts_print(what);
	options_argv(o, "--can-adopt", what, mountpoint, argv);
	fexecve(exe, (char *const *)argv, environ);
	printf("the program cannot be run: %s\n", strerror(errno));
	fflush(stdout);
	_exit(1);
}

static int start_asking(struct takeover *t, const char *mountpoint)
{
	pid_t holder = getpid();
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	t->said = ends[0];
	t->pid = fork();
	if (!t->pid)
		become_asked(t->exe, ends[1], &t->o, mountpoint, holder);
	close(ends[1]);
	if (t->pid < 0)
		return -errno;
	t->pidfd = (int)syscall(SYS_pidfd_open, t->pid, 0);
	return t->pidfd < 0 ? -errno : 0;
}

void takeover_ask(struct takeover *t, const struct daemon_options *o, const char *mountpoint)
{
	struct offer *offer = &t->offer;
	struct err err = { 0 };
	int r = fdmsg_recv(t->conn, offer, sizeof(*offer), &t->exe, 1);

	if (r == -EAGAIN)
		return;
	if (r) {
		/* Somebody who only tests whether we live comes here too. */
		takeover_clear(t);
		return;
	}
	offer->version[sizeof(offer->version) - 1] = '\0';
	offer->options[sizeof(offer->options) - 1] = '\0';
	t->o = *o;
	if (options_take(&t->o, offer->options, &err)) {
		takeover_refuse(t, err.text);
		return;
	}
	t->state = TAKEOVER_ASKING;
	t->until = now_ms() + PATIENCE_MS;
	if (start_asking(t, mountpoint))
		takeover_refuse(t,
				"the offered program cannot be asked; the running one goes on");
}

void takeover_verdict(struct takeover *t)
{
	char said[256] = "", text[ERR_TEXT];
	ssize_t n = read(t->said, said, sizeof(said) - 1);
	int status = 0;

	waitpid(t->pid, &status, 0);
	t->pid = 0;
	drop_fd(&t->pidfd);
	drop_fd(&t->said);
	said[n > 0 ? strcspn(said, "\n") : 0] = '\0';
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		snprintf(text, sizeof(text),
			 "the offered program cannot go on here: %s; the running one goes on",
			 *said ? said : "it ended without a message");
		takeover_refuse(t, text);
		return;
	}
	t->state = TAKEOVER_AGREED;
	snprintf(text, sizeof(text), "pcidevfsd %s takes over from " VERSION, t->offer.version);
	tell(t, REPORT_NOTE, text);
}

void takeover_expire(struct takeover *t)
{
	if (t->state == TAKEOVER_ASKING)
		takeover_refuse(
			t, "the offered program did not answer in time; the running one goes on");
	else
		takeover_clear(t);
}

static void set_cloexec(const struct estate *e, int flag)
{
	const int fds[] = { e->fuse, e->stash, e->listen, e->conn, e->former };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			fcntl(fds[i], F_SETFD, flag);
}

int takeover_exec(int exe, const struct estate *e, const struct daemon_options *o,
		  const char *mountpoint)
{
	const char *argv[OPTIONS_ARGV];
	char text[160];
	int r;

	snprintf(text, sizeof(text), ESTATE_FORMAT, e->fuse, e->stash, e->listen, e->conn,
		 e->former, e->generation, e->restarts, e->major, e->minor);
	options_argv(o, "--adopt", text, mountpoint, argv);
	set_cloexec(e, 0);
	fexecve(exe, (char *const *)argv, environ);
	r = -errno;
	set_cloexec(e, FD_CLOEXEC);
	return r;
}

int takeover_parse(const char *text, struct estate *ret)
{
	struct estate e;
	int end = 0;

	if (sscanf(text, ESTATE_FORMAT "%n", &e.fuse, &e.stash, &e.listen, &e.conn, &e.former,
		   &e.generation, &e.restarts, &e.major, &e.minor, &end) != 9 ||
	    text[end] || fcntl(e.fuse, F_GETFD) < 0 || fcntl(e.stash, F_GETFD) < 0)
		return -EINVAL;
	set_cloexec(&e, FD_CLOEXEC);
	*ret = e;
	return 0;
}
