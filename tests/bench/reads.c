// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * reads SECONDS FILE...: opens, reads and closes the FILEs in turn, and prints percentiles of how
 * long one took: for ever (inf) where it could not be read. Status 1: one could not.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "bench.h"

enum { READS_MAX = 1 << 20 };

int main(int argc, char **argv)
{
	double *took = calloc(READS_MAX, sizeof(*took)), end;
	size_t n = 0, failed = 0;
	char buf[4096];

	if (argc < 3 || !took)
		return 2;
	end = bench_ms() + strtod(argv[1], NULL) * 1e3;
	while (n < READS_MAX && bench_ms() < end) {
		double start = bench_ms();
		int fd = open(argv[2 + n % (size_t)(argc - 2)], O_RDONLY | O_CLOEXEC);
		bool good = fd >= 0 && read(fd, buf, sizeof(buf)) >= 0;

		if (fd >= 0)
			close(fd);
		took[n++] = bench_took(good, start);
		failed += !good;
	}
	qsort(took, n, sizeof(*took), bench_compare);
	printf("reads=%zu failed=%zu p50_us=%.0f p99_us=%.0f max_us=%.0f\n", n, failed,
	       bench_percentile(took, n, 50) * 1e3, bench_percentile(took, n, 99) * 1e3,
	       took[n - 1] * 1e3);
	free(took);
	return failed != 0;
}
