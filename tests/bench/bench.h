/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the measuring programs share. */
#ifndef BENCH_H
#define BENCH_H

#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static inline double bench_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Milliseconds since then; what failed was not quick but never done. */
static inline double bench_took(bool good, double start)
{
	return good ? bench_ms() - start : INFINITY;
}

static inline int bench_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* v must be sorted; p of 100. */
static inline double bench_percentile(const double *v, size_t n, double p)
{
	size_t i = (size_t)((double)n * p / 100);

	return v[i < n ? i : n - 1];
}

static inline int bench_is_spawner(int pid)
{
	char path[64], comm[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	f = fopen(path, "re");
	if (f && !fgets(comm, sizeof(comm), f))
		comm[0] = 0;
	if (f)
		fclose(f);
	return !strncmp(comm, "pcidevfs-spawn", 14);
}

/* The holder's child that does not start helpers. 0 while there is none. */
static inline int bench_serving(int holder)
{
	char path[64];
	FILE *f;
	int pid = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", holder, holder);
	f = fopen(path, "re");
	if (!f)
		return 0;
	do {
		if (fscanf(f, "%d", &pid) != 1)
			pid = 0;
	} while (pid && bench_is_spawner(pid));
	fclose(f);
	return pid;
}

/* Kills the serving process so often within the time, at random moments; returns how often it
 * did. */
static inline int bench_kill_at_random(double seconds, int kills, int holder)
{
	double end = bench_ms() + seconds * 1e3;
	unsigned int seed = (unsigned int)getpid();
	int done = 0, last = 0;

	while (done < kills && bench_ms() < end + 30e3) {
		double gap = seconds * 1e6 / kills * (0.2 + rand_r(&seed) % 1000 / 625.0);
		int pid;

		usleep((useconds_t)gap);
		pid = bench_serving(holder);
		if (pid == last || !pid || kill(pid, SIGKILL))
			continue; /* it has yet to be reaped */
		last = pid;
		done++;
	}
	return done;
}

#endif
