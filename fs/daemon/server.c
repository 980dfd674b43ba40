// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "options.h"
#include "pcidevfs/backend.h"
#include "pcidevfs/err.h"
#include "pcidevfs/fdmsg.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"
#include "fs/rights.h"
#include "fs/session/session.h"
#include "fs/stash.h"

enum {
	YOUNG_MS = 1000,
	HUNG_YOUNG_MS = 60000, /* a hang is noticed later than a fault */
	VICTIM = 100,	       /* oom_score_adj: killed before the holder */
	VICTIM_MOST = 1000,
	LOOK_MS = 500,
	HUNG_LOOKS = 3,	  /* after the look that first saw it */
	STAYS_LOOKS = 10, /* likewise, for a thread that outlives its kill */
	SPAWN_YOUNG_MS = 1000,
	SPAWN_PAUSE_MS = 5,
	SPAWN_PAUSE_MAX_MS = 200,
};

const struct server server_none = { .pidfd = -1, .sock = -1, .fuse = -1 };

/* If memory is short the kernel kills this process before the holder, which restarts it. */
static void make_victim(pid_t pid)
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
	make_victim(getpid());
}

static void __attribute__((noreturn))
become_server(const struct daemon_options *o, const char *mountpoint, int sock, pid_t holder)
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

/* Has the kernel send SIGIO for each request while there is no work: poll() misses a request that
 * the serving process takes at once. Where the kernel does not, the looks go on. */
static void set_idle(struct server *s, bool idle)
{
	int on = idle;

	if (s->idle == idle)
		return;
	s->idle = !fcntl(s->fuse, F_SETOWN, idle ? getpid() : 0) &&
		  !ioctl(s->fuse, FIOASYNC, &on) && idle;
}

static void wake(struct server *s)
{
	s->look_at = now_ms() + LOOK_MS;
	set_idle(s, false);
}

void server_asked(struct server *s)
{
	if (s->idle)
		wake(s);
}

void server_drop(struct server *s)
{
	set_idle(s, false);
	server_reap(&s->pid, &s->pidfd);
	closep(&s->sock);
	*s = server_none;
}

int server_start(struct server *s, const struct daemon_options *o, const char *mountpoint,
		 const struct handover *what, const int fds[HANDOVER_FDS], struct err *err)
{
	pid_t holder = getpid();
	int pair[2], r;

	*s = server_none;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return fail(err, errno, "no socket for the serving process: %s", strerror(errno));
	s->sock = pair[0];
	s->fuse = fds[0];
	s->pid = fork();
	if (!s->pid)
		become_server(o, mountpoint, pair[1], holder);
	r = s->pid < 0 ? -errno : 0;
	if (!r)
		s->pidfd = (int)syscall(SYS_pidfd_open, s->pid, 0);
	if (!r && s->pidfd < 0)
		r = -errno;
	/* The message waits in the socket, so the holder never waits for a dead process; its end is
	 * open here until then, so that one that is dead already is met as any other that dies. */
	r = r ? r : fdmsg_send(s->sock, what, sizeof(*what), fds, HANDOVER_FDS);
	close(pair[1]);
	s->since = now_ms();
	wake(s);
	if (!r)
		return 0;
	server_drop(s);
	return fail(err, -r, "cannot start the serving process: %s", strerror(-r));
}

void server_stop(struct server *s, int how, unsigned int grace_ms)
{
	s->stopping = how;
	s->kill_at = now_ms() + grace_ms;
	wake(s);
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
	return is_watched(s) ? s->look_at : UINT64_MAX;
}

static const struct {
	unsigned int looks;
	const char *what;
} hands[HANDS] = {
	[HAND_REQUEST] = { HUNG_LOOKS, "it hung at one request" },
	/* They compute, for thousands of devices at once, on a machine that may be busy. */
	[HAND_NOTIFIER] = { 20, "its thread that reports changes hung" },
	[HAND_WORKER] = { 20, "its thread that makes long texts hung" },
	[HAND_COMMANDS] = { 20, "its thread that reads ctl hung" },
};

static bool is_stopped(pid_t pid)
{
	siginfo_t now = { 0 };

	return !waitid(P_PID, (id_t)pid, &now, WSTOPPED | WNOHANG | WNOWAIT) && now.si_pid == pid;
}

static bool is_debugged(pid_t pid)
{
	_free_ char *text = NULL;
	const char *dumps, *tracer;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	text = file_text(AT_FDCWD, path);
	tracer = text ? strstr(text, "\nTracerPid:\t") : NULL;
	dumps = text ? strstr(text, "\nCoreDumping:\t1") : NULL;
	return dumps || (tracer && tracer[strlen("\nTracerPid:\t")] != '0');
}

static bool looks_now(struct server *s)
{
	if (now_ms() < s->look_at)
		return false;
	s->look_at = now_ms() + LOOK_MS;
	return true;
}

static bool again(unsigned int *looks, bool seen, unsigned int enough)
{
	*looks = seen ? *looks + 1 : 0;
	return *looks >= enough;
}

/* Looks, when it is time. Returns what hangs; NULL: nothing. A process under a debugger or dumping
 * core never hangs. */
static const char *hangs(struct server *s, int stash)
{
	uint64_t now[HANDS] = { 0 }, any = !s->served;
	const char *what = NULL;

	if (!looks_now(s))
		return NULL;
	/* Before it serves the stash has its predecessor's data: it hangs only if stopped. */
	if (s->served)
		session_in_hand(stash, now);
	for (size_t i = 0; i < HAND_OPERATIONS; i++) { /* which have deadlines of their own */
		any |= now[i];
		if (again(&s->looks[i], now[i] && now[i] == s->in_hand[i], hands[i].looks))
			what = hands[i].what;
		s->in_hand[i] = now[i];
	}
	any |= is_stopped(s->pid);
	if (again(&s->stopped, is_stopped(s->pid), HUNG_LOOKS))
		what = "it was stopped";
	/* Twice: a request that was taken just before SIGIO is in hand by the next look. */
	if (!any && s->idle)
		s->look_at = UINT64_MAX;
	set_idle(s, !any);
	return what && !is_debugged(s->pid) ? what : NULL;
}

static void read_task(pid_t pid, const char *tid, const char *file, char *ret, size_t size)
{
	char path[48];

	snprintf(path, sizeof(path), "task/%.16s/%s", tid, file);
	proc_text(pid, path, ret, size);
}

/* In state D, where no signal reaches it, and because of FUSE. A thread that waits for a disk will
 * end by itself, and not sooner without our mount. The same holds in the freezer of cgroup v1,
 * which also shows D. */
static bool is_waiting(pid_t pid, const char *tid)
{
	char text[4096];
	const char *name_end;

	read_task(pid, tid, "stat", text, sizeof(text));
	name_end = strrchr(text, ')');
	if (!name_end || strncmp(name_end, ") D", 3) != 0)
		return false;
	read_task(pid, tid, "stack", text, sizeof(text));
	if (text[0])
		return strstr(text, "fuse");
	read_task(pid, tid, "wchan", text, sizeof(text)); /* a kernel without stacks */
	return !strstr(text, "refrigerator");
}

static bool has_waiting(pid_t pid)
{
	const struct dirent *e;
	_closedir_ DIR *dir = NULL;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.' && is_waiting(pid, e->d_name))
			return true;
	return false;
}

bool server_waits(const struct server *s)
{
	return has_waiting(s->pid) && !is_debugged(s->pid);
}

bool server_stays(struct server *s)
{
	return s->pid > 0 && s->stopping && now_ms() >= s->kill_at && looks_now(s) &&
	       again(&s->waiting, server_waits(s), STAYS_LOOKS);
}

void server_watch(struct server *s, int stash)
{
	const char *hung;

	if (!is_watched(s))
		return;
	if (s->stopping && s->look_at == UINT64_MAX) /* waits for its end, not for a request */
		wake(s);
	hung = hangs(s, stash);
	if (!hung)
		return;
	s->hung = hung;
	server_stop(s, s->stopping ? s->stopping : SERVER_LEAVE, 0);
}

bool server_rests(const struct server *s)
{
	return is_watched(s) && !s->stopping && s->look_at == UINT64_MAX;
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
	size_t n = (size_t)snprintf(text, size, "the serving process (pid %d) ", (int)s->pid);

	if (s->aborted)
		snprintf(text, size,
			 "the kernel did not release the serving process (pid %d); its connection "
			 "was aborted and the tree mounted anew",
			 (int)s->pid);
	else if (s->failing[0])
		snprintf(text + n, size - n, "gave up: %s", s->failing);
	else if (was_hung(s, end))
		snprintf(text + n, size - n, "was killed because it no longer answered: %s",
			 s->hung);
	else if (was_signalled(end))
		snprintf(text + n, size - n, "was ended by signal %d (%s)", end->si_status,
			 strsignal(end->si_status));
	else
		snprintf(text + n, size - n, "ended with status %d", end->si_status);
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

bool server_forget(int stash, enum to_forget what)
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

/* ---- the process that starts helpers */

const struct spawn spawn_none = { .ask = -1, .listen = -1, .pidfd = -1 };

int spawn_open(struct spawn *s, struct err *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return fail(err, errno, "no socket for the helpers: %s", strerror(errno));
	s->ask = pair[0];
	s->listen = pair[1];
	return 0;
}

/* A spawner that is killed after some time is replaced at once. */
static void reap(struct spawn *s)
{
	bool young = now_ms() - s->since < SPAWN_YOUNG_MS;

	server_reap(&s->pid, &s->pidfd);
	if (!young)
		s->pause = 0;
	s->start_at = now_ms();
	if (young)
		s->start_at += back_off(&s->pause, SPAWN_PAUSE_MS, SPAWN_PAUSE_MAX_MS);
}

static void start(struct spawn *s, const struct daemon_options *o)
{
	s->since = now_ms();
	s->pid = backend_spawn(&o->roots, s->listen);
	s->pidfd = s->pid > 0 ? (int)syscall(SYS_pidfd_open, s->pid, 0) : -1;
	if (s->pidfd >= 0) {
		make_victim(s->pid);
		return;
	}
	say("the process that starts helpers cannot be started: %s", strerror(errno));
	reap(s);
}

void spawn_watch(struct spawn *s, const struct daemon_options *o)
{
	struct pollfd p = { .fd = s->pidfd, .events = POLLIN };

	if (s->ask < 0)
		return;
	if (s->pid > 0 && poll(&p, 1, 0) == 1)
		reap(s);
	if (s->pid <= 0 && now_ms() >= s->start_at)
		start(s, o);
}

uint64_t spawn_look_at(const struct spawn *s)
{
	return s->pid > 0 || s->ask < 0 ? UINT64_MAX : s->start_at;
}

void spawn_close(struct spawn *s)
{
	server_reap(&s->pid, &s->pidfd);
	closep(&s->ask);
	closep(&s->listen);
	*s = spawn_none;
}
