// SPDX-License-Identifier: GPL-2.0-or-later
#include "watchdog.h"

#include <stdio.h>
#include <sys/wait.h>

#include "pcidevfs/util.h"
#include "session.h"

enum {
	LOOK_MS = 500,
	HUNG_LOOKS = 3, /* behind the one that saw it begin */
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
	char path[32], line[128];
	int tracer = 0, dumps = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "TracerPid: %d", &tracer) != 1)
			sscanf(line, "CoreDumping: %d", &dumps);
	if (f)
		fclose(f);
	return tracer || dumps;
}

bool watchdog_hangs(struct watchdog *w, pid_t server, int stash)
{
	uint64_t request;

	if (now_ms() < w->look_at)
		return false;
	w->look_at = now_ms() + LOOK_MS;
	request = stash < 0 ? 0 : session_handles(stash);
	if (is_stopped(server) || (request && request == w->request))
		w->looks++;
	else
		w->looks = 0;
	w->request = request;
	return w->looks >= HUNG_LOOKS && !is_debugged(server);
}
