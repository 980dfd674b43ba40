// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * writers TREE SYS BINDS SECONDS KILLS HOLDER NAME=ADDRESS...: every NAME claims and releases its
 * ADDRESS without a pause, while the serving process is killed KILLS times at random moments. What
 * a write was told must be true at once, in the tree and in the kernel's links below SYS. Of an
 * address that several want, all but one are told EBUSY; so it is within an IOMMU group.
 *
 * BINDS is a command that, with an address behind it, prints how often vfio-pci took that function:
 * as often as claims of its group were acknowledged, each of which found it free. More is a write
 * that was carried out twice, or one that was and was told otherwise (double=), less one that was
 * not (lost=).
 *
 * Prints what they met. Status 0: no write failed but by EBUSY, none was told what is not true,
 * each was carried out once, all kills were made, and each had its turn.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "bench.h"

enum { WRITERS_MAX = 64 };

struct writer {
	const char *address;
	char name[64];
	int group;
	long binds; /* before */
	long done, claims, busy, failed, untrue;
	int error;
	double slowest_ms;
};

struct shared {
	atomic_bool stop;
	struct writer writer[WRITERS_MAX];
};

struct place {
	const char *tree, *sys, *binds;
};

/* 0 or errno. */
static int write_claim(const struct place *at, struct writer *w, const char *value)
{
	char path[PATH_MAX];
	double start = bench_ms(), took;
	int fd, error = 0;

	snprintf(path, sizeof(path), "%s/devices/%s/claim", at->tree, w->address);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, value, strlen(value)) != (ssize_t)strlen(value))
		error = errno;
	if (fd >= 0)
		close(fd);
	took = bench_ms() - start;
	w->slowest_ms = took > w->slowest_ms ? took : w->slowest_ms;
	return error;
}

/* Only of an address that is this writer's alone can it be said what is there after a release. */
static bool holds(const struct place *at, const struct writer *w, bool claimed)
{
	char path[PATH_MAX], text[64] = "", driver[PATH_MAX] = "";
	bool vfio, mine;
	int fd;

	snprintf(path, sizeof(path), "%s/devices/%s/claim", at->tree, w->address);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		return false;
	close(fd);
	text[strcspn(text, "\n")] = '\0';
	mine = !strcmp(text, w->name);
	if (mine != claimed)
		return false;
	snprintf(path, sizeof(path), "%s/bus/pci/devices/%s/driver", at->sys, w->address);
	if (readlink(path, driver, sizeof(driver) - 1) < 0)
		driver[0] = '\0';
	vfio = strstr(driver, "/vfio-pci");
	return !claimed || vfio;
}

static void account(const struct place *at, struct writer *w, int error, bool claimed)
{
	if (!error) {
		w->done++;
		w->claims += claimed;
		w->untrue += !holds(at, w, claimed);
	} else if (error == EBUSY) {
		w->busy++;
	} else {
		w->failed++;
		w->error = error;
	}
}

static void __attribute__((noreturn))
run_writer(struct shared *all, struct writer *w, const struct place *at)
{
	int r = -1;

	while (!atomic_load(&all->stop)) {
		r = write_claim(at, w, w->name);
		account(at, w, r, true);
		if (r)
			continue;
		/* It is ours now, nobody else may be in the way. */
		do {
			r = write_claim(at, w, "none");
			account(at, w, r, false);
		} while (r && !atomic_load(&all->stop));
	}
	if (r)
		write_claim(at, w, "none");
	_exit(0);
}

/* -1: it is not known. */
static long binds_of(const char *command, const char *address)
{
	char line[PATH_MAX];
	long n = -1;
	FILE *f;

	snprintf(line, sizeof(line), "%s %s", command, address);
	f = popen(line, "re");
	if (!f)
		return -1;
	if (fscanf(f, "%ld", &n) != 1)
		n = -1;
	return pclose(f) ? -1 : n;
}

static int group_of(const char *sys, const char *address)
{
	char path[PATH_MAX], group[PATH_MAX] = "";
	const char *last;

	snprintf(path, sizeof(path), "%s/bus/pci/devices/%s/iommu_group", sys, address);
	if (readlink(path, group, sizeof(group) - 1) < 0)
		return -1;
	last = strrchr(group, '/');
	return atoi(last ? last + 1 : group);
}

static bool add_writer(const struct place *at, struct writer *w, const char *text)
{
	const char *is = strchr(text, '=');

	if (!is || is - text >= (long)sizeof(w->name))
		return false;
	memcpy(w->name, text, (size_t)(is - text));
	w->address = is + 1;
	w->group = group_of(at->sys, w->address);
	w->binds = binds_of(at->binds, w->address);
	return w->binds >= 0 && w->group >= 0;
}

/* How often its function was taken beyond what was acknowledged, or (below 0) less. */
static long surplus(const struct shared *all, int n, const struct writer *w, const struct place *at)
{
	long now = binds_of(at->binds, w->address), claims = 0;

	for (int i = 0; i < n; i++)
		if (all->writer[i].group == w->group)
			claims += all->writer[i].claims;
	return now < 0 ? INT_MAX : now - w->binds - claims;
}

/* False: a write was carried out twice, or not at all. */
static bool count_ops(const struct shared *all, int n, const struct place *at)
{
	long more = 0, less = 0;

	for (int i = 0; i < n; i++) {
		long by = surplus(all, n, &all->writer[i], at);

		more += by > 0 ? by : 0;
		less -= by < 0 ? by : 0;
	}
	printf(" double=%ld lost=%ld", more, less);
	return !more && !less;
}

static bool told(const struct shared *all, int n, const struct place *at, int kills, int done)
{
	struct writer sum = { 0 };
	bool all_had_turns = true, once;

	for (int i = 0; i < n; i++) {
		const struct writer *w = &all->writer[i];

		sum.done += w->done;
		sum.busy += w->busy;
		sum.failed += w->failed;
		sum.untrue += w->untrue;
		sum.error = w->error ? w->error : sum.error;
		sum.slowest_ms = w->slowest_ms > sum.slowest_ms ? w->slowest_ms : sum.slowest_ms;
		all_had_turns &= w->done > 0;
	}
	printf("kills=%d writers=%d done=%ld busy=%ld failed=%ld%s%s untrue=%ld", done, n, sum.done,
	       sum.busy, sum.failed, sum.error ? " error=" : "",
	       sum.error ? strerrorname_np(sum.error) : "", sum.untrue);
	once = count_ops(all, n, at);
	printf(" slowest_ms=%.1f\n", sum.slowest_ms);
	return all_had_turns && !sum.failed && !sum.untrue && once && done == kills;
}

/* A slow machine is killed as fast as it starts again; then they have their turns after the last
 * kill. */
static void wait_for_turns(const struct shared *all, int n)
{
	double until = bench_ms() + 60000;

	for (int i = 0; i < n && bench_ms() < until; i += all->writer[i].done > 3)
		usleep(10000);
}

int main(int argc, char **argv)
{
	struct place at;
	struct shared *all;
	int n = argc - 7, done;

	all = mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (n < 1 || n > WRITERS_MAX || all == MAP_FAILED)
		return 2;
	at = (struct place){ argv[1], argv[2], argv[3] };
	for (int i = 0; i < n; i++)
		if (!add_writer(&at, &all->writer[i], argv[7 + i]))
			return 2;
	for (int i = 0; i < n; i++)
		if (!fork())
			run_writer(all, &all->writer[i], &at);
	done = bench_kill_at_random(strtod(argv[4], NULL), atoi(argv[5]), atoi(argv[6]));
	wait_for_turns(all, n);
	atomic_store(&all->stop, true);
	while (wait(NULL) > 0)
		;
	return !told(all, n, &at, atoi(argv[5]), done);
}
