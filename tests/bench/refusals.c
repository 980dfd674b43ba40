// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * refusals SECONDS FILE VALUE: writes VALUE to FILE by its path, as a shell's > does, while an
 * operation runs on its device, and prints percentiles of how long open, write and close took: for
 * ever (inf) where the answer was another one than EBUSY. Status 1: it was.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "bench.h"

enum { WRITES_MAX = 1 << 20 };

static bool is_refused(const char *file, const char *value)
{
	int fd = open(file, O_WRONLY | O_TRUNC | O_CLOEXEC);
	bool busy = fd >= 0 && write(fd, value, strlen(value)) < 0 && errno == EBUSY;

	if (fd >= 0)
		close(fd);
	return busy;
}

int main(int argc, char **argv)
{
	double *took = calloc(WRITES_MAX, sizeof(*took)), end;
	size_t n = 0, failed = 0;

	if (argc != 4 || !took)
		return 2;
	end = bench_ms() + strtod(argv[1], NULL) * 1e3;
	while (n < WRITES_MAX && bench_ms() < end) {
		double start = bench_ms();
		bool good = is_refused(argv[2], argv[3]);

		took[n++] = bench_took(good, start);
		failed += !good;
	}
	qsort(took, n, sizeof(*took), bench_compare);
	printf("writes=%zu failed=%zu p50_us=%.0f p99_us=%.0f max_us=%.0f\n", n, failed,
	       bench_percentile(took, n, 50) * 1e3, bench_percentile(took, n, 99) * 1e3,
	       took[n - 1] * 1e3);
	free(took);
	return failed != 0;
}
