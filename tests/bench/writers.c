// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * writers TREE SYS SECONDS KILLS HOLDER NAME=ADDRESS...: every NAME claims and releases its ADDRESS
 * without a pause, while the serving process is killed KILLS times at random moments. What a write
 * was told must be true at once, in the tree and in the kernel's links below SYS. Of an address that
 * several want, all but one are told EBUSY.
 *
 * Prints what they met. Status 0: no write failed but by EBUSY, none was told what is not true, all
 * kills were made, and each had its turn.
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
	long done, busy, failed, untrue;
	int error;
	double slowest_ms;
};

struct shared {
	atomic_bool stop;
	struct writer writer[WRITERS_MAX];
};

struct place {
	const char *tree, *sys;
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

static bool add_writer(struct writer *w, const char *text)
{
	const char *at = strchr(text, '=');

	if (!at || at - text >= (long)sizeof(w->name))
		return false;
	memcpy(w->name, text, (size_t)(at - text));
	w->address = at + 1;
	return true;
}

static bool told(const struct shared *all, int n, int kills, int done)
{
	struct writer sum = { 0 };
	bool all_had_turns = true;

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
	printf("kills=%d writers=%d done=%ld busy=%ld failed=%ld%s%s untrue=%ld slowest_ms=%.1f\n",
	       done, n, sum.done, sum.busy, sum.failed, sum.error ? " error=" : "",
	       sum.error ? strerrorname_np(sum.error) : "", sum.untrue, sum.slowest_ms);
	return all_had_turns && !sum.failed && !sum.untrue && done == kills;
}

int main(int argc, char **argv)
{
	struct place at;
	struct shared *all;
	int n = argc - 6, done;

	all = mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (n < 1 || n > WRITERS_MAX || all == MAP_FAILED)
		return 2;
	at = (struct place){ argv[1], argv[2] };
	for (int i = 0; i < n; i++) {
		if (!add_writer(&all->writer[i], argv[6 + i]))
			return 2;
		if (!fork())
			run_writer(all, &all->writer[i], &at);
	}
	done = bench_kill_at_random(strtod(argv[3], NULL), atoi(argv[4]), atoi(argv[5]));
	atomic_store(&all->stop, true);
	while (wait(NULL) > 0)
		;
	return !told(all, n, atoi(argv[4]), done);
}
