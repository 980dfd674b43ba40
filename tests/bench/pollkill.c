// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pollkill N FILE HOLDER: a poll(POLLPRI) on FILE is waiting when the serving process is killed, N
 * times. Prints how often it was woken and the latest wake behind its kill.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

enum { BEFORE_MS = 50, PATIENCE_MS = 3000 };

/* As with sysfs: what was read is what further changes are told against. */
static void take_note(int fd)
{
	char buf[65536];

	if (pread(fd, buf, sizeof(buf), 0) < 0)
		perror("pollkill: read");
}

int main(int argc, char **argv)
{
	struct pollfd p = { .events = POLLPRI };
	int n = argc == 4 ? atoi(argv[1]) : 0, woken = 0;
	double latest = 0;

	if (n <= 0)
		return 2;
	p.fd = open(argv[2], O_RDONLY | O_CLOEXEC);
	for (int i = 0; i < n && p.fd >= 0; i++) {
		double start, took;
		pid_t killer;

		take_note(p.fd);
		poll(&p, 1, 0);
		start = bench_ms();
		killer = fork();
		if (!killer) {
			usleep(BEFORE_MS * 1000);
			kill(bench_serving(atoi(argv[3])), SIGKILL);
			_exit(0);
		}
		woken += poll(&p, 1, PATIENCE_MS) == 1 && (p.revents & POLLPRI);
		took = bench_ms() - start - BEFORE_MS;
		latest = took > latest ? took : latest;
		waitpid(killer, NULL, 0);
	}
	printf("kills=%d woken=%d latest_ms=%.1f\n", n, woken, latest);
	return woken != n;
}
