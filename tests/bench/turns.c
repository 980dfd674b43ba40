// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * turns PID ROUNDS NAME WORD... [-- NAME WORD...]...: how long sequences that do the same by other
 * ways take. A WORD is FILE=TEXT, one write, or !PROGRAM ARG..., a command without quoting. Every
 * sequence must leave all as it was; they take turns, so that drift of the machine meets all alike.
 *
 * One line each: name, median milliseconds, ratio to the first, and milliseconds without what
 * process PID, the simulated kernel, computed meanwhile (0: there is none).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

#include "bench.h"

enum { SEQUENCES = 8, WORDS = 16 };

extern char **environ;

struct sequence {
	const char *name;
	char **words;
	int n;
	double *ms, *net_ms;
};

static double cpu_ms(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	if (!pid || clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		return 0;
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static bool write_text(const char *word)
{
	const char *text = strchr(word, '=');
	char path[PATH_MAX];
	size_t len;
	bool good;
	int fd;

	if (!text)
		return false;
	snprintf(path, sizeof(path), "%.*s", (int)(text - word), word);
	len = strlen(++text);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	good = fd >= 0 && write(fd, text, len) == (ssize_t)len;
	if (!good)
		fprintf(stderr, "turns: %s: %s\n", word, strerror(errno));
	if (fd >= 0)
		close(fd);
	return good;
}

static bool run_command(const char *word)
{
	char text[PATH_MAX], *argv[WORDS + 1], *rest = text;
	int n = 0, status;
	pid_t pid;

	snprintf(text, sizeof(text), "%s", word);
	while (n < WORDS && (argv[n] = strsep(&rest, " ")))
		n += argv[n][0] != '\0';
	argv[n] = NULL;
	if (!n || posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) ||
	    waitpid(pid, &status, 0) != pid)
		return false;
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

static bool run_sequence(const struct sequence *s, pid_t kernel, size_t round)
{
	double cpu = cpu_ms(kernel), start = bench_ms();

	for (int i = 0; i < s->n; i++) {
		const char *word = s->words[i];

		if (word[0] == '!' ? !run_command(word + 1) : !write_text(word)) {
			fprintf(stderr, "turns: %s stopped at %s\n", s->name, word);
			return false;
		}
	}
	s->ms[round] = bench_ms() - start;
	s->net_ms[round] = s->ms[round] - (cpu_ms(kernel) - cpu);
	return true;
}

static int parse(int argc, char **argv, struct sequence *s, size_t rounds)
{
	int n = 0;

	for (int i = 0; i < argc && n < SEQUENCES; i++, n++) {
		s[n] = (struct sequence){ argv[i], argv + i + 1, 0, calloc(rounds, sizeof(double)),
					  calloc(rounds, sizeof(double)) };
		while (++i < argc && strcmp(argv[i], "--"))
			s[n].n++;
		if (!s[n].n || !s[n].ms || !s[n].net_ms)
			return 0;
	}
	return n;
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), bench_compare);
	return bench_percentile(v, n, 50);
}

int main(int argc, char **argv)
{
	size_t rounds = argc > 4 ? strtoul(argv[2], NULL, 10) : 0;
	pid_t kernel = argc > 4 ? atoi(argv[1]) : 0;
	struct sequence s[SEQUENCES];
	int n = rounds && rounds < 100000 ? parse(argc - 3, argv + 3, s, rounds) : 0;
	double first = 0;

	if (!n)
		return 2;
	for (int k = 0; k < n; k++) /* the first of each is not counted */
		if (!run_sequence(&s[k], kernel, 0))
			return 1;
	for (size_t i = 0; i < rounds; i++)
		for (int k = 0; k < n; k++)
			if (!run_sequence(&s[k], kernel, i))
				return 1;
	for (int k = 0; k < n; k++) {
		double ms = median(s[k].ms, rounds);

		first = k ? first : ms;
		printf("%s %.3f %.2f %.3f\n", s[k].name, ms, ms / first,
		       median(s[k].net_ms, rounds));
	}
	return 0;
}
