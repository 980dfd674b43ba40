// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * wait_pri FILE MS COMMAND...: reads FILE, runs COMMAND, and waits for POLLPRI on FILE as one does
 * with sysfs. Prints the milliseconds from the command's start to the wake; 1 when none came in MS.
 */
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	struct pollfd p = { .events = POLLPRI };
	static char buf[1 << 20];
	pid_t pid;
	long start;
	int woken;

	if (argc < 4)
		return 2;
	p.fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (p.fd < 0 || read(p.fd, buf, sizeof(buf)) < 0) {
		perror(argv[1]);
		return 1;
	}
	/* The first poll leaves its handle with the file; nothing may be pending yet. */
	if (poll(&p, 1, 0) > 0) {
		puts("woken before anything happened");
		return 1;
	}
	start = now_ms();
	if (posix_spawnp(&pid, argv[3], NULL, NULL, argv + 3, environ)) {
		perror(argv[3]);
		return 1;
	}
	woken = poll(&p, 1, (int)strtol(argv[2], NULL, 10));
	printf("%ld\n", now_ms() - start);
	waitpid(pid, NULL, 0);
	return woken == 1 ? 0 : 1;
}
