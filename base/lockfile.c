// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "pcidevfs/lockfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

/* Another process that found the file unlocked may remove it between our open and our lock. */
enum { TRIES = 10 };

/* Opens for writing: NFS needs that for such a lock. */
static int open_own(int dirfd, const char *name, struct err *err)
{
	int fd = openat(dirfd, name,
			O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
	struct stat st;

	if (fd < 0)
		return fail(err, errno, "%s: %s", name, strerror(errno));
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 077))
		return fd;
	close(fd);
	return fail(err, EPERM,
		    "%s is not a file that user %u alone can open (mode 0600); remove it", name,
		    (unsigned int)geteuid());
}

bool lockfile_holds(int fd, int dirfd, const char *name)
{
	struct stat ours, there;

	return !fstat(fd, &ours) && !fstatat(dirfd, name, &there, AT_SYMLINK_NOFOLLOW) &&
	       ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

int lockfile_take(int dirfd, const char *name, struct err *err)
{
	for (int i = 0; i < TRIES; i++) {
		_close_ int fd = open_own(dirfd, name, err);

		if (fd < 0)
			return fd;
		if (flock(fd, LOCK_EX | LOCK_NB))
			return fail(err, errno, "%s: %s", name, strerror(errno));
		if (lockfile_holds(fd, dirfd, name))
			return steal_fd(&fd);
	}
	return fail(err, EWOULDBLOCK, "%s is removed each time it is created", name);
}

int lockfile_await(int dirfd, const char *name, unsigned int ms, struct err *err)
{
	uint64_t until = now_ms() + ms;
	int fd;

	while ((fd = lockfile_take(dirfd, name, err)) == -EWOULDBLOCK && now_ms() < until)
		usleep(1000);
	return fd;
}
