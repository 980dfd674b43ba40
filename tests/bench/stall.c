// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * stall N FILE HOLDER: kills the serving process N times, each time opens and reads FILE at once,
 * and prints how long that took; for ever (inf) where the read failed. Status 1: one did. Kills are
 * far enough apart to be isolated from one another.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "bench.h"

enum { APART_US = 50000 };

static int read_once(const char *path)
{
	char buf[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf));

	if (fd >= 0)
		close(fd);
	return n > 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
	size_t n = argc == 4 ? strtoul(argv[1], NULL, 10) : 0, failed = 0;
	double *took = calloc(n ? n : 1, sizeof(*took));

	if (!n || !took)
		return 2;
	for (size_t i = 0; i < n; i++) {
		int pid;
		double start;

		usleep(APART_US);
		pid = bench_serving(atoi(argv[3]));
		if (!pid) {
			fprintf(stderr, "stall: nobody serves\n");
			return 1;
		}
		start = bench_ms();
		kill(pid, SIGKILL);
		took[i] = bench_took(read_once(argv[2]) == 0, start);
		failed += isinf(took[i]);
	}
	qsort(took, n, sizeof(*took), bench_compare);
	printf("kills=%zu failed=%zu min_ms=%.2f p50_ms=%.2f p90_ms=%.2f p99_ms=%.2f max_ms=%.2f\n",
	       n, failed, took[0], bench_percentile(took, n, 50), bench_percentile(took, n, 90),
	       bench_percentile(took, n, 99), took[n - 1]);
	free(took);
	return failed != 0;
}
