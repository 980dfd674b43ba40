// SPDX-License-Identifier: GPL-2.0-or-later
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pcidevfs/confine.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

struct running {
	struct child *c;
	pid_t pid;
	int pidfd;
	int out;
	bool ended;
};

static void keep_tail(struct child *c, const char *text, size_t n)
{
	size_t keep;

	c->cut |= c->n + n > CHILD_TAIL;
	if (n > CHILD_TAIL) {
		text += n - CHILD_TAIL;
		n = CHILD_TAIL;
	}
	keep = c->n + n > CHILD_TAIL ? CHILD_TAIL - n : c->n;
	memmove(c->tail, c->tail + c->n - keep, keep);
	memcpy(c->tail + keep, text, n);
	c->n = keep + n;
}

/* Returns -1 if more may come later. */
static ssize_t take_output(struct running *r)
{
	char text[16384];
	ssize_t n = read(r->out, text, sizeof(text));

	if (n > 0)
		keep_tail(r->c, text, (size_t)n);
	if (!n)
		drop_fd(&r->out);
	return n;
}

/* Waits until the program, and all its children if it is alone, are gone; `until` 0: without
 * limit. */
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

static int start(struct running *r, struct err *err)
{
	unsigned long flags = SIGCHLD | (r->c->alone ? CLONE_NEWPID : 0);
	int pair[2];

	if (pipe2(pair, O_CLOEXEC))
		return fail(err, errno, "no pipe for %s: %s", r->c->name, strerror(errno));
	r->pid = (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, 0);
	if (!r->pid) {
		r->c->become(r->c->ctx, pair[1]);
		_exit(126);
	}
	close(pair[1]);
	r->out = pair[0];
	if (r->pid < 0)
		return fail(err, errno, "%s cannot be started: %s", r->c->name, strerror(errno));
	fcntl(r->out, F_SETFL, O_NONBLOCK);
	r->pidfd = (int)syscall(SYS_pidfd_open, r->pid, 0);
	return 0;
}

/* The program may run as nobody by now. Without CAP_KILL root cannot kill that user's processes. */
static void end(pid_t pid)
{
	if (!kill(pid, SIGKILL) || seteuid(NOBODY_ID))
		return;
	kill(pid, SIGKILL);
	if (seteuid(0))
		_exit(1);
}

/* Without a pidfd (no descriptors) its end is not noticed in time: it is killed and said to be
 * late. */
int child_run(struct child *c, unsigned int ms, struct err *err)
{
	struct running r = { .c = c, .pidfd = -1, .out = -1 };
	int rc = start(&r, err);

	c->ms = ms;
	if (!rc) {
		follow(&r, r.pidfd < 0 ? 1 : now_ms() + ms);
		c->late = !r.ended;
		if (c->late)
			end(r.pid);
		/* Who waits for it lives as long as it, so that nobody starts another one beside it. */
		if (c->late)
			setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
		if (c->late && r.pidfd >= 0)
			follow(&r, 0);
		waitpid(r.pid, &c->status, __WALL);
	}
	closep(&r.pidfd);
	closep(&r.out);
	return rc;
}

const char *child_said(struct child *c)
{
	char *text = c->tail, *line;

	while (c->n && strchr("\n\r\t ", text[c->n - 1]))
		c->n--;
	text[c->n] = '\0';
	line = c->cut ? strchr(text, '\n') : NULL;
	text = line ? line + 1 : text;
	for (char *p = text; *p; p++)
		if (*p == '\n')
			*p = ';';
	return text;
}

int child_tell(struct child *c, struct err *err)
{
	const char *said = child_said(c);

	said = *said ? said : "it printed nothing";
	if (c->late)
		return fail(err, ETIMEDOUT, "%s did not end within %u ms and was killed: %s",
			    c->name, c->ms, said);
	if (WIFSIGNALED(c->status))
		return fail(err, EIO, "%s was killed by signal %d: %s", c->name,
			    WTERMSIG(c->status), said);
	if (WEXITSTATUS(c->status))
		return fail(err, EIO, "%s ended with status %d: %s", c->name,
			    WEXITSTATUS(c->status), said);
	return 0;
}
