// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * files [-t MS] OPERATION NAME=PATH...: how long one operation takes on each PATH, in nanoseconds:
 * median of five rounds, in each of which every path has its turn of MS, so that drift of the
 * machine meets all alike. One line per path: operation, name, nanoseconds, ratio to the first. A
 * cold scan can be done only once in a turn, so it has more of them.
 *
 * Everything runs on one CPU: which CPU the scheduler picks for whom would decide the result.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"

enum { ROUNDS = 5, COLD_ROUNDS = 25, TARGETS = 16, BURST = 16 };

struct operation {
	const char *name;
	bool held; /* works on a descriptor that stays open */
	bool cold; /* the kernel's entries and inodes are dropped before each */
	int (*run)(const char *path, int fd);
	bool per_entry;
};

struct target {
	const char *name, *path;
	double ns[COLD_ROUNDS];
};

static int open_read_close(const char *path, int held)
{
	char buf[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 || read(fd, buf, sizeof(buf)) < 0 ? -1 : 1;

	if (fd >= 0)
		close(fd);
	return r;
}

static int stat_path(const char *path, int fd)
{
	struct stat st;

	return stat(path, &st) ? -1 : 1;
}

static int read_held(const char *path, int fd)
{
	char buf[4096];

	return pread(fd, buf, sizeof(buf), 0) < 0 ? -1 : 1;
}

/* Returns the number of entries. */
static int scan(const char *path, int fd)
{
	DIR *d = opendir(path);
	struct dirent *e;
	struct stat st;
	int n = 0;

	if (!d)
		return -1;
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW))
			n = -1;
		n++;
	}
	closedir(d);
	return n;
}

static const struct operation operations[] = {
	{ .name = "open+read+close", .run = open_read_close },
	{ .name = "stat", .run = stat_path },
	{ .name = "pread", .run = read_held, .held = true },
	{ .name = "scan", .run = scan, .per_entry = true },
	{ .name = "scan-cold", .run = scan, .per_entry = true, .cold = true },
};

static int drop_caches(void)
{
	int fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
	int r = fd >= 0 && write(fd, "2", 1) == 1 ? 0 : -1;

	if (fd >= 0)
		close(fd);
	usleep(20000);
	return r;
}

/* Nanoseconds per operation (per entry for scans); negative on failure. */
static double measure(const struct operation *op, const char *path, double ms)
{
	int fd = op->held ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	double start, took;
	long done = 0;

	if (op->cold && drop_caches())
		return -1;
	start = bench_ms();
	do {
		for (int i = 0; i < (op->per_entry ? 1 : BURST); i++) {
			int n = op->run(path, fd);

			if (n < 0)
				return -1;
			done += n;
		}
		took = bench_ms() - start;
	} while (took < ms && !op->cold);
	if (fd >= 0)
		close(fd);
	return done ? took * 1e6 / (double)done : -1;
}

static int run_all(const struct operation *op, struct target *t, size_t n, double ms)
{
	size_t rounds = op->cold ? COLD_ROUNDS : ROUNDS;

	/* The zeroth round warms up. */
	for (size_t round = 0; round <= rounds; round++) {
		for (size_t i = 0; i < n; i++) {
			double ns = measure(op, t[i].path, round ? ms : 2);

			if (ns < 0) {
				fprintf(stderr, "files: %s: %s\n", t[i].path, strerror(errno));
				return 1;
			}
			if (round)
				t[i].ns[round - 1] = ns;
		}
	}
	for (size_t i = 0; i < n; i++)
		qsort(t[i].ns, rounds, sizeof(t[i].ns[0]), bench_compare);
	for (size_t i = 0; i < n; i++)
		printf("%s %s %.0f %.2f\n", op->name, t[i].name, t[i].ns[rounds / 2],
		       t[i].ns[rounds / 2] / t[0].ns[rounds / 2]);
	return 0;
}

static void stay_on_one_cpu(void)
{
	cpu_set_t all, one;

	if (sched_getaffinity(0, sizeof(all), &all))
		return;
	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

int main(int argc, char **argv)
{
	struct target targets[TARGETS] = { 0 };
	const struct operation *op = NULL;
	double ms = 40;
	size_t n = 0;

	while (getopt(argc, argv, "+t:") == 't')
		ms = strtod(optarg, NULL);
	for (size_t i = 0; optind < argc && i < sizeof(operations) / sizeof(*operations); i++)
		if (!strcmp(argv[optind], operations[i].name))
			op = &operations[i];
	for (int i = optind + 1; i < argc && n < TARGETS; i++, n++) {
		char *path = strchr(argv[i], '=');

		if (!path)
			return 2;
		*path = '\0';
		targets[n] = (struct target){ .name = argv[i], .path = path + 1 };
	}
	if (!op || !n)
		return 2;
	stay_on_one_cpu();
	return run_all(op, targets, n, ms);
}
