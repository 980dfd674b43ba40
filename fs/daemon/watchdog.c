// SPDX-License-Identifier: GPL-2.0-or-later
#include "watchdog.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "fs/rights.h"
#include "pcidevfs/util.h"

enum {
	LOOK_MS = 500,
	HUNG_LOOKS = 3,	  /* after the look that first saw it */
	STAYS_LOOKS = 10, /* likewise, for a thread that outlives its kill */
};

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

void watchdog_begin(struct watchdog *w)
{
	*w = (struct watchdog){ .look_at = now_ms() + LOOK_MS };
}

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

void watchdog_wake(struct watchdog *w)
{
	w->look_at = now_ms() + LOOK_MS;
}

static bool looks_now(struct watchdog *w)
{
	if (now_ms() < w->look_at)
		return false;
	w->look_at = now_ms() + LOOK_MS;
	return true;
}

static bool again(unsigned int *looks, bool seen, unsigned int enough)
{
	*looks = seen ? *looks + 1 : 0;
	return *looks >= enough;
}

const char *watchdog_hangs(struct watchdog *w, pid_t server, int stash)
{
	uint64_t now[HANDS] = { 0 }, any = stash < 0;
	const char *what = NULL;

	if (!looks_now(w))
		return NULL;
	if (stash >= 0)
		session_in_hand(stash, now);
	for (size_t i = 0; i < HAND_OPERATIONS; i++) { /* which have deadlines of their own */
		any |= now[i];
		if (again(&w->looks[i], now[i] && now[i] == w->in_hand[i], hands[i].looks))
			what = hands[i].what;
		w->in_hand[i] = now[i];
	}
	any |= is_stopped(server);
	if (again(&w->stopped, is_stopped(server), HUNG_LOOKS))
		what = "it was stopped";
	if (!any)
		w->look_at = UINT64_MAX;
	return what && !is_debugged(server) ? what : NULL;
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

bool watchdog_waits(pid_t server)
{
	return has_waiting(server) && !is_debugged(server);
}

bool watchdog_stays(struct watchdog *w, pid_t server)
{
	return looks_now(w) && again(&w->waiting, watchdog_waits(server), STAYS_LOOKS);
}
