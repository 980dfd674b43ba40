// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * start MOUNT FILE COMMAND...: from starting the command to the first good read of FILE below
 * MOUNT, which must be a mount by then. Prints the milliseconds and what the serving process holds
 * in memory, ends the command. Status 1: no good read in 60 s.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

enum { LIMIT_MS = 60000 };

static bool reads(const char *path)
{
	char buf[64];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool good = fd >= 0 && read(fd, buf, sizeof(buf)) > 0;

	if (fd >= 0)
		close(fd);
	return good;
}

static long status_kib(int pid, const char *key)
{
	char path[64], line[256];
	long value = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			value = strtol(line + strlen(key), NULL, 10);
	if (f)
		fclose(f);
	return value;
}

int main(int argc, char **argv)
{
	char path[4096];
	double start, took;
	bool good;
	int server;
	pid_t pid;

	if (argc < 4)
		return 2;
	snprintf(path, sizeof(path), "%s/%s", argv[1], argv[2]);
	start = bench_ms();
	pid = fork();
	if (!pid) {
		execv(argv[3], argv + 3);
		_exit(127);
	}
	while (!reads(path) && bench_ms() - start < LIMIT_MS && !waitpid(pid, NULL, WNOHANG))
		usleep(200);
	good = reads(path);
	took = bench_took(good, start);
	/* What follows the first read belongs to the memory too. */
	sleep(1);
	server = bench_serving(pid);
	printf("ms=%.1f rss_kib=%ld anon_kib=%ld shmem_kib=%ld holder_kib=%ld\n",
	       took, status_kib(server, "VmRSS:"), status_kib(server, "RssAnon:"),
	       status_kib(server, "RssShmem:"), status_kib(pid, "VmRSS:"));
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
	return !good;
}
