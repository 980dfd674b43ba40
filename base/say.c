// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/say.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "pcidevfs/util.h"

#define TEXT_MAX 2048
#define STREAM_VARIABLE "JOURNAL_STREAM"
#define STREAM_TEXT 48

__attribute__((weak)) const char say_as[] = "pcidevfsd";

/* Lines for which there was no room. It belongs to stderr, of which there is one. */
static _Atomic unsigned int dropped;

/* What the variable holds if stderr is the journal's. False: stderr is closed. */
static bool stream_of_stderr(char ret[static STREAM_TEXT])
{
	struct stat st;

	if (fstat(STDERR_FILENO, &st))
		return false;
	snprintf(ret, STREAM_TEXT, "%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	return true;
}

bool say_journals(void)
{
	const char *text = getenv(STREAM_VARIABLE);
	char ours[STREAM_TEXT];

	return text && stream_of_stderr(ours) && !strcmp(text, ours);
}

void say_as_journal(void)
{
	char ours[STREAM_TEXT];

	if (stream_of_stderr(ours))
		setenv(STREAM_VARIABLE, ours, 1);
}

/* A pipe that poll() calls writable takes a whole line (PIPE_BUF), unless another process is
 * faster. */
static bool write_polled(const char *line, size_t n)
{
	struct pollfd to = { STDERR_FILENO, POLLOUT, 0 };

	return poll(&to, 1, 0) == 1 && to.revents & POLLOUT && write(to.fd, line, n) >= 0;
}

/* Pipes know RWF_NOWAIT since Linux 6.4. */
static bool write_line(char *line, size_t n)
{
	const struct iovec part = { line, n };
	struct stat st;
	bool stream = !fstat(STDERR_FILENO, &st) && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));

	if (!stream)
		return write_polled(line, n);
	if (pwritev2(STDERR_FILENO, &part, 1, -1, RWF_NOWAIT) >= 0)
		return true;
	return (errno == EOPNOTSUPP || errno == ENOSYS) && write_polled(line, n);
}

__attribute__((format(printf, 2, 0)))
static void put_line(enum say_level level, const char *fmt, va_list ap)
{
	char text[TEXT_MAX], before[64] = "", prefix[64], line[TEXT_MAX + 256];
	unsigned int missing = atomic_exchange(&dropped, 0);
	int n;

	vsnprintf(text, sizeof(text), fmt, ap);
	str_clean(text);
	if (say_journals()) /* which has the program's name by itself */
		snprintf(prefix, sizeof(prefix), "<%d>", (int)level);
	else
		snprintf(prefix, sizeof(prefix), "%s: ", say_as);
	if (missing)
		snprintf(before, sizeof(before), " (%u lines before this one were dropped)",
			 missing);
	n = snprintf(line, sizeof(line), "%s%s%s\n", prefix, text, before);
	if (!write_line(line, (size_t)n))
		atomic_fetch_add(&dropped, missing + 1);
}

void say_at(enum say_level level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_line(level, fmt, ap);
	va_end(ap);
}

void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_line(SAY_NOTICE, fmt, ap);
	va_end(ap);
}

/* One bit for each area, and one that says that the environment was read: it does not change. */
static unsigned int debug_areas(void)
{
	static const char *const names[SAY_AREAS] = {
		[SAY_REQUESTS] = "requests",
		[SAY_STEPS] = "steps",
		[SAY_HELPERS] = "helpers",
		[SAY_LOOKS] = "looks",
	};
	static _Atomic unsigned int known;
	unsigned int areas = known;
	const char *at = areas ? NULL : getenv("PCIDEVFS_DEBUG");

	if (areas)
		return areas;
	for (size_t len; at && *at; at += len + (at[len] == ',')) {
		len = strcspn(at, ",");
		for (size_t i = 0; i < SAY_AREAS; i++)
			if (strlen(names[i]) == len && !strncmp(at, names[i], len))
				areas |= 1u << i;
	}
	known = areas |= 1u << SAY_AREAS;
	return areas;
}

void say_debug(enum say_area area, const char *fmt, ...)
{
	va_list ap;

	if (!(debug_areas() & 1u << area))
		return;
	va_start(ap, fmt);
	put_line(SAY_DEBUG, fmt, ap);
	va_end(ap);
}
