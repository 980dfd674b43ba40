// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_SKIP = 77 };

/* Filled by constructors, before main; read only from then on. */
static struct test *tests;
/* Set in the child, for the one test it runs. */
static char own_dir[PATH_MAX];

void test_register(struct test *test)
{
	struct test **at = &tests;

	while (*at && strcmp((*at)->name, test->name) < 0)
		at = &(*at)->next;
	test->next = *at;
	*at = test;
}

const char *test_dir(void)
{
	return own_dir;
}

void test_fail(const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	printf("# %s:%d: ", file, line);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	_exit(EXIT_FAILURE);
}

void test_skip(const char *fmt, ...)
{
	va_list ap;

	printf("# ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	_exit(EXIT_SKIP);
}

void test_check_eq(const char *file, int line, const char *what, intmax_t got, intmax_t want)
{
	if (got != want)
		test_fail(file, line, "%s is %jd, should be %jd", what, got, want);
}

void test_check_str(const char *file, int line, const char *what, const char *got, const char *want)
{
	if (got == want || (got && want && !strcmp(got, want)))
		return;
	test_fail(file, line, "%s is \"%s\", should be \"%s\"", what, got ? got : "(null)",
		  want ? want : "(null)");
}

void test_check_in(const char *file, int line, const char *what, const char *got, const char *part)
{
	if (!got || !strstr(got, part))
		test_fail(file, line, "%s is \"%s\", should contain \"%s\"", what,
			  got ? got : "(null)", part);
}

static void make_parents(char *path)
{
	for (char *p = path + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		if (mkdir(path, 0777) && errno != EEXIST)
			FAIL("mkdir %s: %m", path);
		*p = '/';
	}
}

void test_file(const char *path, const char *text)
{
	char full[PATH_MAX * 2];
	FILE *f;

	snprintf(full, sizeof(full), "%s%s%s", *path == '/' ? "" : own_dir, *path == '/' ? "" : "/",
		 path);
	make_parents(full);
	f = fopen(full, "w");
	if (!f || fputs(text, f) < 0 || fclose(f))
		FAIL("%s: %m", full);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void __attribute__((noreturn)) run_child(const struct test *test)
{
	/* A group of its own: whatever the test starts ends with it. */
	setpgid(0, 0);
	alarm(test->seconds);
	test->run();
	/* exit, not _exit: the leak check runs there. */
	exit(EXIT_SUCCESS);
}

static int run_test(const struct test *test)
{
	pid_t pid;
	int status;

	snprintf(own_dir, sizeof(own_dir), "%s/unit.XXXXXX", getenv("TMPDIR") ?: "/tmp");
	if (!mkdtemp(own_dir)) {
		printf("# %s: %m\n", own_dir);
		return EXIT_FAILURE;
	}
	fflush(stdout);
	pid = fork();
	if (!pid)
		run_child(test);
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		printf("# fork: %m\n");
		return EXIT_FAILURE;
	}
	kill(-pid, SIGKILL);
	nftw(own_dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	if (WTERMSIG(status) == SIGALRM)
		printf("# not done after %u s\n", test->seconds);
	else
		printf("# killed by %s\n", strsignal(WTERMSIG(status)));
	return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	const char *pattern = argc > 1 ? argv[1] : "";
	int passed = 0, failed = 0, skipped = 0;

	for (const struct test *t = tests; t; t = t->next) {
		int rc;

		if (!strstr(t->name, pattern))
			continue;
		rc = run_test(t);
		if (rc == EXIT_SKIP)
			skipped++;
		else if (rc)
			failed++;
		else
			passed++;
		printf("%s - %s\n", rc == EXIT_SKIP ? "skip" : rc ? "not ok" : "ok", t->name);
	}
	printf("%d passed, %d failed", passed, failed);
	if (skipped)
		printf(", %d skipped", skipped);
	printf("\n");
	return failed != 0;
}
