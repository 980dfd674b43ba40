// SPDX-License-Identifier: GPL-2.0-or-later
/* The state directory: how it is opened, locked, and followed when it is removed or replaced. */
#define _GNU_SOURCE
#include "intent_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "pcidevfs/lockfile.h"
#include "pcidevfs/util.h"

enum { AWAIT_MS = 500 };

int statedir_refuse(struct intents *in, int rc, const char *what, struct err *err)
{
	return fail(err, -rc,
		    "the request cannot be saved in %s%s: %s; fix that or choose another directory "
		    "with --state",
		    in->dir, what, strerror(-rc));
}

const char *statedir_way_out(int rc)
{
	return rc == -ENOSPC || rc == -EDQUOT ? "make room there and write again"
					      : "fix that and write again";
}

#define HOLDER_TEXT 300

/* The holder of the lock has written its mount point into it: ", that of PATH,", or "". */
static const char *read_holder(int dirfd, char ret[static HOLDER_TEXT])
{
	_close_ int fd = openat(dirfd, INTENT_LOCK, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char path[256];
	ssize_t n = fd < 0 ? -1 : read_all(fd, path, sizeof(path) - 1);

	path[n > 0 ? n : 0] = '\0';
	snprintf(ret, HOLDER_TEXT, path[0] ? ", that of %s," : "%s", path);
	return ret;
}

void intents_sign(struct intents *in, const char *mount)
{
	size_t len = strlen(mount);
	ssize_t n;

	pthread_mutex_lock(&in->save);
	n = in->lock_fd < 0 || ftruncate(in->lock_fd, 0) ? -1 : pwrite(in->lock_fd, mount, len, 0);
	(void)n; /* on a full disk it has no name */
	pthread_mutex_unlock(&in->save);
}

/* Takes the lock again if it was removed, or failed before. Returns the descriptor or -errno. */
static int take_lock(struct intents *in, int dirfd, struct err *err)
{
	struct err why = { 0 };
	char where[HOLDER_TEXT];
	int fd = lockfile_await(dirfd, INTENT_LOCK, AWAIT_MS, &why);

	if (fd == -EWOULDBLOCK)
		return fail(err, EBUSY,
			    "another pcidevfsd%s stores its intents in %s; give its mount point, "
			    "or another directory with --state",
			    read_holder(dirfd, where), in->dir);
	if (fd < 0)
		fail(err, -fd, "the request cannot be saved in %s/%s; %s", in->dir, why.text,
		     statedir_way_out(fd));
	return fd;
}

/* Call it with save held. */
int statedir_keep_lock(struct intents *in, struct err *err)
{
	int fd;

	if (in->lock_fd >= 0 && lockfile_holds(in->lock_fd, in->dirfd, INTENT_LOCK))
		return 0;
	fd = take_lock(in, in->dirfd, err);
	if (fd < 0)
		return fd;
	closep(&in->lock_fd);
	in->lock_fd = fd;
	return 0;
}

static bool is_volatile(int dirfd)
{
	struct statfs fs;

	return !fstatfs(dirfd, &fs) && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC);
}

/* A directory in which no lock can be made (full, read-only) is read, but nothing is written. */
int statedir_open(struct intents *in, struct err *err)
{
	struct err why = { 0 };
	int fd, lock;

	if (mkdir(in->dir, 0700) && errno != EEXIST)
		return statedir_refuse(in, -errno, "", err);
	fd = open(in->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return statedir_refuse(in, -errno, "", err);
	lock = take_lock(in, fd, &why);
	if (lock == -EBUSY) {
		close(fd);
		*err = why;
		return lock;
	}
	in->refused = why;
	in->is_volatile = is_volatile(fd);
	in->dirfd = fd;
	in->lock_fd = lock;
	return 0;
}

bool intents_place(const struct intents *in, struct stat *ret)
{
	return in->dirfd >= 0 && !fstat(in->dirfd, ret);
}

void statedir_close(struct intents *in)
{
	closep(&in->lock_fd);
	closep(&in->dirfd);
}

/* It may be removed and made again, or a file system mounted over it. */
bool statedir_has_moved(const struct intents *in, bool *ret_gone)
{
	struct stat ours, there;

	*ret_gone = in->dirfd >= 0 && stat(in->dir, &there);
	return in->dirfd >= 0 && (*ret_gone || fstat(in->dirfd, &ours) ||
				  ours.st_dev != there.st_dev || ours.st_ino != there.st_ino);
}

/* ---- by a helper: landlock(7) lets this process write only in the directory of its start */

static int ask(struct intents *in, const char *what, const char *text)
{
	return in->world.state(in->world.backend, what, text);
}

static int far_create(void *ctx, const char *name)
{
	(void)name;
	return ask(ctx, "create", "");
}

static ssize_t far_write(void *ctx, int fd, const char *data, size_t len)
{
	char part[WORLD_STATE_TEXT];
	size_t n = len < sizeof(part) ? len : sizeof(part) - 1;
	int rc;

	(void)fd;
	memcpy(part, data, n);
	part[n] = '\0';
	rc = ask(ctx, "append", part);
	return rc ? rc : (ssize_t)n;
}

static int far_sync(void *ctx, int fd)
{
	(void)fd;
	return ask(ctx, "sync", "");
}

static int far_close(void *ctx, int fd)
{
	(void)ctx;
	(void)fd;
	return 0;
}

static int far_rename(void *ctx, const char *from, const char *to)
{
	(void)from;
	(void)to;
	return ask(ctx, "rename", "");
}

static int far_sync_dir(void *ctx)
{
	return ask(ctx, "sync_dir", "");
}

struct disk statedir_disk(struct intents *in)
{
	if (!in->far)
		return disk_at(&in->dirfd);
	return (struct disk){
		in, far_create, far_write, far_sync, far_close, far_rename, far_sync_dir
	};
}

/* The helper has the lock only while it writes; the next serving process takes it for good. */
static int open_far(struct intents *in, struct intents *got, struct err *err)
{
	int rc = ask(in, "make", "");

	statedir_close(got);
	*err = (struct err){ 0 };
	got->refused = (struct err){ 0 };
	got->dirfd = rc ? -1 : open(in->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (got->dirfd < 0)
		return statedir_refuse(in, rc ? rc : -errno, "", err);
	got->is_volatile = is_volatile(got->dirfd);
	got->far = true;
	return 0;
}

/* The next write stores everything there, but never over another file of intents. */
int statedir_follow(struct intents *in, struct err *err)
{
	struct intents got = { .dir = in->dir, .dirfd = -1, .lock_fd = -1 };
	struct err why = { 0 };
	int rc = statedir_open(&got, &why);

	in->unsure = true;
	if ((rc == -EACCES || (!rc && got.refused.code == EACCES)) && in->world.state)
		rc = open_far(in, &got, &why);
	if (!rc &&
	    (!faccessat(got.dirfd, INTENT_FILE, F_OK, AT_SYMLINK_NOFOLLOW) || errno != ENOENT))
		rc = fail(&why, EBUSY,
			  "the request cannot be saved: %s is another directory than before, with "
			  "intents of its own; take them up with pcidevfsd --replace, or remove "
			  "them",
			  in->dir);
	if (rc)
		statedir_close(&got);
	if (rc && err)
		*err = why;
	pthread_mutex_lock(&in->lock);
	in->refused = why;
	if (!rc) {
		statedir_close(in);
		in->dirfd = got.dirfd;
		in->lock_fd = got.lock_fd;
		in->is_volatile = got.is_volatile;
		in->far = got.far;
	}
	pthread_mutex_unlock(&in->lock);
	return rc;
}
