// SPDX-License-Identifier: GPL-2.0-or-later
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pcidevfs/err.h"
#include "pcidevfs/util.h"
#include "yaml.h"

static int cannot(const char *path, int code, struct err *err)
{
	return fail(err, code, "%s cannot be read: %s", path, strerror(code));
}

/* Appends what comes until the end, or until there is more than is taken. Returns 0 or errno. */
static int read_some(int fd, int silence_ms, char *text, size_t *n)
{
	struct pollfd p = { fd, POLLIN, 0 };

	for (;;) {
		int ready = poll(&p, 1, silence_ms);
		ssize_t got = ready > 0 ? read(fd, text + *n, YAML_SIZE_MAX + 1 - *n) : -1;

		if (!ready)
			return ETIMEDOUT;
		if (got < 0 && errno != EINTR && errno != EAGAIN)
			return errno;
		*n += got > 0 ? (size_t)got : 0;
		if (!got || *n > YAML_SIZE_MAX)
			return 0;
	}
}

int small_text(int fd, const char *name, int silence_ms, char **ret, struct err *err)
{
	_free_ char *text = malloc(YAML_SIZE_MAX + 2);
	size_t n = 0;
	int code = text ? read_some(fd, silence_ms, text, &n) : 0;

	if (!text)
		return fail_nomem(err);
	if (code == ETIMEDOUT)
		return fail(err, code, "%s has not ended, and nothing has come from it for %g s",
			    name, silence_ms / 1000.0);
	if (code)
		return cannot(name, code, err);
	if (memchr(text, 0, n))
		return fail(err, EILSEQ, "%s is not a text: it has a NUL", name);
	if (n > YAML_SIZE_MAX)
		return fail(err, E2BIG, "%s has more than %d bytes", name, YAML_SIZE_MAX);
	text[n] = '\0';
	*ret = realloc(text, n + 1) ?: text;
	text = NULL;
	return 0;
}

bool file_is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* To open a device may do something: a watchdog begins to count, a tape goes back. So it is looked at
 * first, and again once it is open, since another one may have taken its place. */
int small_file(const char *path, char **ret, struct err *err)
{
	_close_ int fd = -1;
	struct stat st;

	if (stat(path, &st))
		return cannot(path, errno, err);
	if (S_ISREG(st.st_mode)) {
		fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &st))
			return cannot(path, errno, err);
	}
	if (!S_ISREG(st.st_mode))
		return fail(err, EINVAL, "%s is not a regular file", path);
	return small_text(fd, path, -1, ret, err);
}
