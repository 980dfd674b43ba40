// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "state_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pcidevfs/err.h"
#include "pcidevfs/intent.h"
#include "pcidevfs/lockfile.h"
#include "pcidevfs/util.h"

static int result(int rc)
{
	return rc ? -errno : 0;
}

/* The daemon is the only one that writes here, unless another one has come meanwhile. */
static int check_lock(int dir)
{
	_close_ int fd = lockfile_take(dir, INTENT_LOCK, NULL);

	return fd >= 0 ? 0 : fd == -EWOULDBLOCK ? -EBUSY : fd;
}

static int do_make(int dir, const char *text)
{
	(void)text;
	return check_lock(dir);
}

static int do_create(int dir, const char *text)
{
	int rc = check_lock(dir);
	_close_ int fd = -1;

	(void)text;
	if (rc)
		return rc;
	fd = openat(dir, INTENT_NEW, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : 0;
}

static int open_new(int dir)
{
	int fd = openat(dir, INTENT_NEW, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int do_append(int dir, const char *text)
{
	_close_ int fd = open_new(dir);
	size_t len = strlen(text);

	while (fd >= 0 && len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno != EINTR)
			return -errno;
		text += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return fd < 0 ? fd : 0;
}

static int do_sync(int dir, const char *text)
{
	_close_ int fd = open_new(dir);

	(void)text;
	return fd < 0 ? fd : result(fsync(fd));
}

static int do_rename(int dir, const char *text)
{
	(void)text;
	return result(renameat(dir, INTENT_NEW, dir, INTENT_FILE));
}

static int do_sync_dir(int dir, const char *text)
{
	(void)text;
	return result(fsync(dir));
}

static const struct state_call {
	const char *what;
	int (*run)(int dir, const char *text);
} calls[] = {
	{ "make", do_make }, { "create", do_create }, { "append", do_append },
	{ "sync", do_sync }, { "rename", do_rename }, { "sync_dir", do_sync_dir },
};

static const struct state_call *find(const char *what)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (!strcmp(what, calls[i].what))
			return &calls[i];
	return NULL;
}

int state_dir_do(const char *dir, const char *what, const char *text)
{
	const struct state_call *call = find(what);
	_close_ int fd = -1;

	if (!call || !*dir)
		return -EPERM;
	if (call->run == do_make && mkdir(dir, 0700) && errno != EEXIST)
		return -errno;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : call->run(fd, text);
}
