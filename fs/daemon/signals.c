// SPDX-License-Identifier: GPL-2.0-or-later
#include "signals.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "pcidevfs/util.h"

static const int ends[] = { SIGTERM, SIGINT };

/* An ignored signal is still delivered while it is blocked. */
static bool is_ignored(int signal)
{
	struct sigaction op;

	return !sigaction(signal, NULL, &op) && op.sa_handler == SIG_IGN;
}

int signals_open(void)
{
	sigset_t set;

	/* There is nothing to read anew, and a terminal that is closed must not take the mount away. */
	signal(SIGHUP, SIG_IGN);
	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (!is_ignored(ends[i]))
			sigaddset(&set, ends[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

bool signals_came(int fd)
{
	struct signalfd_siginfo info;

	return read(fd, &info, sizeof(info)) == sizeof(info);
}
