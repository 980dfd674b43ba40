// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "options.h"
#include "pcidevfs/err.h"
#include "pcidevfs/fdmsg.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"
#include "fs/stash.h"

enum {
	YOUNG_MS = 1000,
	HUNG_YOUNG_MS = 60000, /* a hang is noticed later than a fault */
	VICTIM = 100,	       /* oom_score_adj: killed before the holder */
	VICTIM_MOST = 1000,
};

const struct server server_none = { .pidfd = -1, .sock = -1 };

void server_victim(pid_t pid)
{
	char path[48];
	FILE *f;
	int adj;

	snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)pid);
	f = fopen(path, "r+e");
	if (f && fscanf(f, "%d", &adj) == 1) {
		adj = (adj < 0 ? 0 : adj) + VICTIM;
		rewind(f);
		fprintf(f, "%d", adj < VICTIM_MOST ? adj : VICTIM_MOST);
	}
	if (f)
		fclose(f);
}

void server_child(pid_t holder)
{
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != holder)
		_exit(1);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	unsetenv("NOTIFY_SOCKET");
	server_victim(getpid());
}

static void __attribute__((noreturn))
become_server(const struct options *o, const char *mountpoint, int sock, pid_t holder)
{
	const char *argv[OPTIONS_ARGV];
	char number[16];

	server_child(holder);
	fcntl(sock, F_SETFD, 0);
	snprintf(number, sizeof(number), "%d", sock);
	options_argv(o, "--serve", number, mountpoint, argv);
	execv("/proc/self/exe", (char *const *)argv);
	say("cannot start myself: %s", strerror(errno));
	_exit(1);
}

void server_reap(pid_t *pid, int *pidfd)
{
	if (*pid > 0) {
		kill(*pid, SIGKILL);
		waitpid(*pid, NULL, 0);
	}
	*pid = 0;
	drop_fd(pidfd);
}

void server_drop(struct server *s)
{
	server_reap(&s->pid, &s->pidfd);
	closep(&s->sock);
	*s = server_none;
}

int server_start(struct server *s, const struct options *o, const char *mountpoint,
		 const struct handover *what, const int fds[HANDOVER_FDS], struct err *err)
{
	pid_t holder = getpid();
	int pair[2], r;

	*s = server_none;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return fail(err, errno, "no socket for the serving process: %s", strerror(errno));
	s->sock = pair[0];
	s->pid = fork();
	if (!s->pid)
		become_server(o, mountpoint, pair[1], holder);
	r = s->pid < 0 ? -errno : 0;
	close(pair[1]);
	if (!r)
		s->pidfd = (int)syscall(SYS_pidfd_open, s->pid, 0);
	if (!r && s->pidfd < 0)
		r = -errno;
	/* The message waits in the socket, so the holder never waits for a dead process. */
	r = r ? r : fdmsg_send(s->sock, what, sizeof(*what), fds, HANDOVER_FDS);
	s->since = now_ms();
	watchdog_begin(&s->watchdog);
	if (!r)
		return 0;
	server_drop(s);
	return fail(err, -r, "cannot start the serving process: %s", strerror(-r));
}

void server_stop(struct server *s, int how, unsigned int grace_ms)
{
	s->stopping = how;
	s->kill_at = now_ms() + grace_ms;
	watchdog_wake(&s->watchdog);
	server_nudge(s);
}

void server_nudge(struct server *s)
{
	/* Repeated, because a signal between its test of the flag and its read would be lost. */
	if (s->pid > 0 && s->stopping)
		kill(s->pid, now_ms() >= s->kill_at ? SIGKILL : s->stopping);
}

/* A process that leaves is killed soon anyway. */
static bool is_watched(const struct server *s)
{
	return s->pid > 0 && s->stopping != SERVER_LEAVE;
}

uint64_t server_look_at(const struct server *s)
{
	return is_watched(s) ? s->watchdog.look_at : UINT64_MAX;
}

void server_watch(struct server *s, int stash)
{
	/* Before it serves the stash has its predecessor's data. */
	const char *hung;

	if (!is_watched(s))
		return;
	if (s->stopping &&
	    s->watchdog.look_at == UINT64_MAX) /* waits for its end, not for a request */
		watchdog_wake(&s->watchdog);
	hung = watchdog_hangs(&s->watchdog, s->pid, s->served ? stash : -1);
	if (!hung)
		return;
	s->hung = hung;
	server_stop(s, s->stopping ? s->stopping : SERVER_LEAVE, 0);
}

bool server_rests(const struct server *s)
{
	return is_watched(s) && !s->stopping && s->watchdog.look_at == UINT64_MAX;
}

bool server_stays(struct server *s)
{
	return s->pid > 0 && s->stopping && now_ms() >= s->kill_at &&
	       watchdog_stays(&s->watchdog, s->pid);
}

static bool was_signalled(const siginfo_t *end)
{
	return end->si_code == CLD_KILLED || end->si_code == CLD_DUMPED;
}

static bool was_killed(const siginfo_t *end)
{
	return was_signalled(end) && end->si_status == SIGKILL;
}

/* It may have ended otherwise just before the kill, for example with a core dump. */
static bool was_hung(const struct server *s, const siginfo_t *end)
{
	return s->hung && was_killed(end);
}

static void describe_end(const struct server *s, const siginfo_t *end, char *text, size_t size)
{
	pid_t pid = s->pid;

	if (s->aborted)
		snprintf(
			text, size,
			"the kernel did not release the serving process (pid %d); its connection "
			"was aborted and the tree mounted anew",
			(int)pid);
	else if (s->failing[0])
		snprintf(text, size, "the serving process (pid %d) gave up: %s", (int)pid,
			 s->failing);
	else if (was_hung(s, end))
		snprintf(text, size,
			 "the serving process (pid %d) was killed because it no longer answered: %s",
			 (int)pid, s->hung);
	else if (was_signalled(end))
		snprintf(text, size, "the serving process (pid %d) was ended by signal %d (%s)",
			 (int)pid, end->si_status, strsignal(end->si_status));
	else
		snprintf(text, size, "the serving process (pid %d) ended with status %d", (int)pid,
			 end->si_status);
}

/* Ending soon after the start, or giving up, also counts as a fault. */
static enum server_end judge_end(const struct server *s, const siginfo_t *end)
{
	bool killed = was_killed(end), young = now_ms() - s->since < YOUNG_MS;

	if (was_hung(s, end))
		return now_ms() - s->since >= HUNG_YOUNG_MS ? SERVER_SERVED
		       : s->served			     ? SERVER_FAILED
							     : SERVER_UNBORN;
	if (s->stopping && !s->failing[0])
		return SERVER_SERVED;
	if (!s->served)
		return killed && !s->stopping ? SERVER_KILLED : SERVER_UNBORN;
	return young && !killed ? SERVER_FAILED : SERVER_SERVED;
}

enum server_end server_ended(const struct server *s, struct handover *next)
{
	siginfo_t end = { 0 };

	waitid(P_PID, (id_t)s->pid, &end, WEXITED | WNOWAIT);
	describe_end(s, &end, next->restarted_for, sizeof(next->restarted_for));
	next->killed = was_killed(&end) && !s->hung;
	return judge_end(s, &end);
}

static int clear(int stash, const enum stash_region *regions, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && !r; i++)
		r = stash_clear(stash, regions[i]);
	return r;
}

bool server_forget(int stash, enum forget what)
{
	static const enum stash_region regions[] = { STASH_MODEL, STASH_INTENTS };
	/* nothing, the first, or both */
	int r = clear(stash, regions, what);

	if (r)
		say("what former serving processes knew cannot be forgotten: %s", strerror(-r));
	else if (what != FORGET_NOTHING)
		say_at(SAY_WARNING,
		       "the next serving process forgets what former ones knew of the devices%s, "
		       "and looks at the machine anew",
		       what == FORGET_OPERATIONS ? " and of running operations" : "");
	return what == FORGET_OPERATIONS;
}

int server_forget_connection(int stash)
{
	static const enum stash_region regions[] = { STASH_SESSION, STASH_CTL, STASH_FILES,
						     STASH_JOURNAL };
	int r = clear(stash, regions, ARRAY_SIZE(regions));

	if (r)
		say("the memory of the connection that was aborted cannot be cleared: %s",
		    strerror(-r));
	return r;
}

bool server_left_op(int stash)
{
	uint64_t in_hand[HANDS];

	session_in_hand(stash, in_hand);
	return in_hand[HAND_OPERATIONS];
}
