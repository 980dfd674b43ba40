// SPDX-License-Identifier: GPL-2.0-or-later
#include "exec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "client/loop.h"
#include "credential.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

struct exec_run {
	struct loop *loop;
	const struct exec_plugin *plugin;
	struct source out, end; /* what it prints, and its pidfd with the deadline */
	pid_t pid;
	unsigned int deadline_ms;
	char *text;
	size_t size;
	void (*done)(void *ctx, const char *text, size_t size, const struct err *err);
	void *ctx;
};

static void close_source(struct loop *l, struct source *s)
{
	if (s->fd < 0)
		return;
	loop_remove(l, s);
	closep(&s->fd);
	s->fd = -1;
}

static void run_free(struct exec_run *r)
{
	close_source(r->loop, &r->out);
	close_source(r->loop, &r->end);
	free(r->text);
	free(r);
}

/* With those that it started, which are of its process group. */
static void kill_all(const struct exec_run *r)
{
	kill(-r->pid, SIGKILL);
}

void exec_cancel(struct exec_run *r)
{
	if (!r)
		return;
	kill_all(r);
	waitpid(r->pid, NULL, WNOHANG);
	run_free(r);
}

static void add_hint(const struct exec_plugin *e, struct err *err)
{
	if (err && e->hint)
		fail(err, err->code, "%.300s; %.300s", err->text, e->hint);
}

static void tell(struct exec_run *r, struct err *err)
{
	add_hint(r->plugin, err);
	r->done(r->ctx, r->text, r->size, err);
	r->done = NULL;
}

/* One that hangs in the kernel is waited for by nobody but the loop. */
static void give_up(struct exec_run *r, int code, const char *why)
{
	struct err err;

	kill_all(r);
	close_source(r->loop, &r->out);
	fail(&err, code, "exec: %.128s %s", r->plugin->argv[0], why);
	tell(r, &err);
}

/* Returns false if it printed too much. */
static bool take_output(struct exec_run *r)
{
	while (r->out.fd >= 0) {
		ssize_t n = read(r->out.fd, r->text + r->size, CREDENTIAL_MAX - r->size);

		if (n < 0)
			break;
		r->size += (size_t)n;
		if (r->size == CREDENTIAL_MAX)
			return false;
		if (!n)
			close_source(r->loop, &r->out);
	}
	return true;
}

static const char too_much[] = "printed too much";

static void on_output(struct source *s)
{
	struct exec_run *r = container_of(s, struct exec_run, out);

	if (!take_output(r))
		give_up(r, E2BIG, too_much);
}

static void judge(const struct exec_run *r, bool fits, int status, struct err *err)
{
	const char *name = r->plugin->argv[0];

	if (!fits)
		fail(err, E2BIG, "exec: %.128s %s", name, too_much);
	else if (WIFSIGNALED(status))
		fail(err, EIO, "exec: %.128s was killed by signal %d", name, WTERMSIG(status));
	else if (status)
		fail(err, EIO, "exec: %.128s ended with status %d", name, WEXITSTATUS(status));
}

/* What it started may still hold the pipe: what is there now counts. */
static void on_end(struct source *s)
{
	struct exec_run *r = container_of(s, struct exec_run, end);
	bool fits = take_output(r);
	struct err err = { 0 };
	int status = 0;

	waitpid(r->pid, &status, WNOHANG);
	judge(r, fits, status, &err);
	if (r->done)
		tell(r, err.code ? &err : NULL);
	run_free(r);
}

static void on_deadline(struct source *s)
{
	struct exec_run *r = container_of(s, struct exec_run, end);
	char why[64];

	snprintf(why, sizeof(why), "has not ended within %u ms", r->deadline_ms);
	if (r->done)
		give_up(r, ETIMEDOUT, why);
}

/* Ours, and the plugin's behind them in place of those of equal names. The strings are borrowed. */
static char **environment(char *const *more)
{
	size_t n = 0, n_more = 0, kept = 0;
	char **all;

	while (environ[n])
		n++;
	while (more[n_more])
		n_more++;
	all = calloc(n + n_more + 1, sizeof(char *));
	for (size_t i = 0; all && i < n; i++) {
		size_t name = strcspn(environ[i], "="), k = 0;

		while (k < n_more && strncmp(more[k], environ[i], name + 1))
			k++;
		if (k == n_more)
			all[kept++] = environ[i];
	}
	if (all)
		memcpy(all + kept, more, n_more * sizeof(char *));
	return all;
}

/* Returns 0 or an errno. The signals that we block and ignore are the program's again. */
static int spawn(struct exec_run *r, int out, char **env)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, pipe;
	int rc;

	sigemptyset(&none);
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	posix_spawn_file_actions_init(&files);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
						POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &pipe);
	rc = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	rc = rc ?: posix_spawn_file_actions_adddup2(&files, out, 1);
	rc = rc ?: posix_spawnp(&r->pid, r->plugin->argv[0], &files, &attr, r->plugin->argv, env);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return rc;
}

static int follow(struct exec_run *r, struct err *err)
{
	r->end.fd = (int)syscall(SYS_pidfd_open, r->pid, 0);
	if (r->end.fd < 0)
		return fail(err, errno, "exec: %.128s cannot be followed: %s", r->plugin->argv[0],
			    strerror(errno));
	r->end.at = now_ms() + r->deadline_ms;
	return loop_add(r->loop, &r->out, err) ?: loop_add(r->loop, &r->end, err);
}

int exec_start(struct loop *loop, const struct exec_plugin *e, unsigned int deadline_ms,
	       void (*done)(void *ctx, const char *text, size_t size, const struct err *err),
	       void *ctx, struct exec_run **ret, struct err *err)
{
	struct exec_run *r = calloc(1, sizeof(*r));
	_free_ char **env = environment(e->env);
	_close_ int out = -1;
	int pair[2], rc;

	if (!r || !env || !(r->text = malloc(CREDENTIAL_MAX)) || pipe2(pair, O_CLOEXEC)) {
		if (r)
			free(r->text);
		free(r);
		return fail(err, ENOMEM, "exec: %.128s cannot be started: no memory", e->argv[0]);
	}
	out = pair[1];
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	r->loop = loop;
	r->plugin = e;
	r->deadline_ms = deadline_ms;
	r->done = done;
	r->ctx = ctx;
	r->out = (struct source){ .fd = pair[0], .ready = on_output, .at = UINT64_MAX };
	r->end = (struct source){ .fd = -1, .ready = on_end, .due = on_deadline };
	rc = spawn(r, out, env);
	if (rc) {
		rc = fail(err, rc, "exec: %.128s cannot be started: %s", e->argv[0], strerror(rc));
		add_hint(e, err);
		run_free(r);
		return rc;
	}
	rc = follow(r, err);
	if (rc)
		exec_cancel(r);
	else
		*ret = r;
	return rc;
}
