// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/sysfs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

static const char *const default_roots[ROOT_COUNT] = {
	[ROOT_SYS] = SYSFS_ROOT,
	[ROOT_DEV] = DEV_ROOT,
	[ROOT_PROC] = PROC_ROOT,
};

int sysfs_open(struct sysfs *s, const char *sys, const char *dev, const char *proc, struct err *err)
{
	const char *const given[ROOT_COUNT] = { sys, dev, proc };
	struct sysfs opened = { .fd = { -1, -1, -1 } };

	for (int i = 0; i < ROOT_COUNT; i++) {
		opened.path[i] = given[i] ?: default_roots[i];
		opened.fd[i] = open(opened.path[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (opened.fd[i] < 0) {
			int rc = fail(err, errno, "%s cannot be opened: %s", opened.path[i],
				      strerror(errno));

			sysfs_close(&opened);
			return rc;
		}
	}
	*s = opened;
	return 0;
}

void sysfs_close(struct sysfs *s)
{
	for (int i = 0; i < ROOT_COUNT; i++) {
		closep(&s->fd[i]);
		s->fd[i] = -1;
	}
}

/* Names in a path come from outside: none may lead out of the root. */
static bool path_is_safe(const char *path)
{
	if (!*path || *path == '/')
		return false;
	for (const char *p = path; *p; p += strcspn(p, "/"), p += strspn(p, "/"))
		if (p[0] == '.' && p[1] == '.' && (!p[2] || p[2] == '/'))
			return false;
	return true;
}

__attribute__((format(printf, 2, 0))) static int make_path(char path[static PATH_MAX],
							   const char *fmt, va_list ap)
{
	int n = vsnprintf(path, PATH_MAX, fmt, ap);

	if (n < 0 || n >= PATH_MAX)
		return -ENAMETOOLONG;
	return path_is_safe(path) ? 0 : -EINVAL;
}

#define MAKE_PATH(path, fmt)                                                                       \
	({                                                                                         \
		va_list ap_;                                                                       \
		int rc_;                                                                           \
		va_start(ap_, fmt);                                                                \
		rc_ = make_path(path, fmt, ap_);                                                   \
		va_end(ap_);                                                                       \
		rc_;                                                                               \
	})

/* An attribute is read in one call; a second one would only find its end. */
static ssize_t read_attr(int fd, char *buf, size_t size)
{
	ssize_t n;

	do
		n = read(fd, buf, size);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static int read_value(const struct sysfs *s, enum root root, char *buf, size_t size,
		      const char *path)
{
	/* O_NONBLOCK: a fifo in place of the file must not block us. */
	_close_ int fd = openat(s->fd[root], path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t len;

	if (fd < 0)
		return -errno;
	len = root == ROOT_SYS ? read_attr(fd, buf, size) : read_all(fd, buf, size);
	if (len < 0)
		return (int)len;
	buf[len - ((size_t)len == size)] = '\0';
	if ((size_t)len == size)
		return -EFBIG;
	len = (ssize_t)strlen(buf);
	while (len && buf[len - 1] == '\n')
		buf[--len] = '\0';
	return (int)len;
}

int sysfs_read(const struct sysfs *s, enum root root, char *buf, size_t size, const char *fmt, ...)
{
	char path[PATH_MAX];
	int rc = MAKE_PATH(path, fmt);

	return rc ? rc : read_value(s, root, buf, size, path);
}

int sysfs_number(const struct sysfs *s, enum root root, int64_t min, int64_t max, int64_t *ret,
		 const char *fmt, ...)
{
	char path[PATH_MAX], text[64];
	int rc = MAKE_PATH(path, fmt);

	if (rc)
		return rc;
	rc = read_value(s, root, text, sizeof(text), path);
	if (rc < 0)
		return rc == -EFBIG ? -EINVAL : rc;
	return parse_i64(text, min, max, ret);
}

static int read_target(const struct sysfs *s, enum root root, const char *path,
		       char ret[static PATH_MAX])
{
	ssize_t n = readlinkat(s->fd[root], path, ret, PATH_MAX - 1);

	if (n < 0)
		return -errno;
	ret[n] = '\0';
	return 0;
}

int sysfs_target(const struct sysfs *s, char *ret, const char *fmt, ...)
{
	char path[PATH_MAX], target[PATH_MAX];
	const char *start = target;
	int rc = MAKE_PATH(path, fmt);

	rc = rc ? rc : read_target(s, ROOT_SYS, path, target);
	if (rc)
		return rc;
	while (!strncmp(start, "../", 3))
		start += 3;
	strcpy(ret, start);
	return 0;
}

int sysfs_link(const struct sysfs *s, enum root root, char *buf, size_t size, const char *fmt, ...)
{
	char path[PATH_MAX], target[PATH_MAX];
	const char *last;
	int rc = MAKE_PATH(path, fmt);

	if (rc)
		return rc;
	rc = read_target(s, root, path, target);
	if (rc)
		return rc == -EINVAL ? -ENOENT : rc;
	last = strrchr(target, '/');
	last = last ? last + 1 : target;
	if (strlen(last) >= size)
		return -ENAMETOOLONG;
	return str_copy(buf, size, last) ? 0 : -ENAMETOOLONG;
}

bool sysfs_exists(const struct sysfs *s, enum root root, const char *fmt, ...)
{
	char path[PATH_MAX];

	return !MAKE_PATH(path, fmt) && !faccessat(s->fd[root], path, F_OK, 0);
}

uint64_t sysfs_inode(const struct sysfs *s, const char *fmt, ...)
{
	char path[PATH_MAX];
	struct stat st;

	return MAKE_PATH(path, fmt) || fstatat(s->fd[ROOT_SYS], path, &st, 0) ? 0 : st.st_ino;
}

DIR *sysfs_dir(const struct sysfs *s, enum root root, const char *fmt, ...)
{
	char path[PATH_MAX];
	int rc = MAKE_PATH(path, fmt), fd;
	DIR *dir;

	if (rc) {
		errno = -rc;
		return NULL;
	}
	fd = openat(s->fd[root], path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	dir = fdopendir(fd);
	if (!dir) {
		rc = errno;
		close(fd);
		errno = rc;
	}
	return dir;
}

int sysfs_write(const struct sysfs *s, enum root root, const char *text, const char *fmt, ...)
{
	char path[PATH_MAX];
	size_t len = strlen(text);
	ssize_t n;
	int rc = MAKE_PATH(path, fmt);

	if (rc)
		return rc;
	/* No O_CREAT, no O_TRUNC: the attribute must exist, and is no link. */
	_close_ int fd = openat(s->fd[root], path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	/* EINTR is not retried: the kernel may have acted. The helper takes no signals. */
	n = write(fd, text, len);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}
