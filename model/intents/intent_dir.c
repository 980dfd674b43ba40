// SPDX-License-Identifier: GPL-2.0-or-later
/* The state directory: how it is opened, locked, and followed when it is removed or replaced. */
#define _GNU_SOURCE
#include "intents.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "pcidevfs/lockfile.h"
#include "pcidevfs/util.h"

enum { AWAIT_MS = 500 };

int statedir_refuse(const struct intents *in, int rc, const char *what, struct err *err)
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
	n = ftruncate(in->at.lock_fd, 0) ? -1 : pwrite(in->at.lock_fd, mount, len, 0);
	(void)n; /* on a full disk, or without a lock, it has no name */
	pthread_mutex_unlock(&in->save);
}

/* Takes the lock again if it was removed, or failed before. Returns the descriptor or -errno. */
static int take_lock(const struct intents *in, int dirfd, struct err *err)
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

	if (in->at.lock_fd >= 0 && lockfile_holds(in->at.lock_fd, in->at.fd, INTENT_LOCK))
		return 0;
	fd = take_lock(in, in->at.fd, err);
	if (fd < 0)
		return fd;
	closep(&in->at.lock_fd);
	in->at.lock_fd = fd;
	return 0;
}

static bool in_memory(const struct statfs *fs)
{
	return fs->f_type == TMPFS_MAGIC || fs->f_type == RAMFS_MAGIC;
}

/* What is written to an overlay goes to another directory, which only its line of mountinfo names.
 * One that cannot be found, or has a name with escapes there, counts as on a disk. */
static bool upper_in_memory(int dirfd)
{
	_free_ char *mounts = file_text(AT_FDCWD, "/proc/self/mountinfo");
	char number[32], *line, *save, *upper;
	struct statfs fs;
	struct stat st;

	if (!mounts || fstat(dirfd, &st))
		return false;
	snprintf(number, sizeof(number), " %u:%u ", major(st.st_dev), minor(st.st_dev));
	for (line = strtok_r(mounts, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		upper = strstr(line, number) ? strstr(line, " - overlay ") : NULL;
		upper = upper ? strstr(upper, ",upperdir=") : NULL;
		if (!upper)
			continue;
		upper += strlen(",upperdir=");
		upper[strcspn(upper, ",")] = '\0';
		return !statfs(upper, &fs) && in_memory(&fs);
	}
	return false;
}

static bool is_volatile(int dirfd)
{
	struct statfs fs;

	if (fstatfs(dirfd, &fs))
		return false;
	return in_memory(&fs) || (fs.f_type == OVERLAYFS_SUPER_MAGIC && upper_in_memory(dirfd));
}

/* A directory in which no lock can be made (full, read-only) is read, but nothing is written. */
int statedir_open(const struct intents *in, struct statedir *ret, struct err *err)
{
	struct statedir d = { .lock_fd = -1 };

	if (mkdir(in->dir, 0700) && errno != EEXIST)
		return statedir_refuse(in, -errno, "", err);
	d.fd = open(in->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d.fd < 0)
		return statedir_refuse(in, -errno, "", err);
	d.lock_fd = take_lock(in, d.fd, &d.refused);
	if (d.lock_fd == -EBUSY) {
		closep(&d.fd);
		*err = d.refused;
		return -EBUSY;
	}
	d.is_volatile = is_volatile(d.fd);
	*ret = d;
	return 0;
}

bool intents_place(const struct intents *in, struct stat *ret)
{
	return in->at.fd >= 0 && !fstat(in->at.fd, ret);
}

void statedir_close(struct statedir *d)
{
	drop_fd(&d->lock_fd);
	drop_fd(&d->fd);
}

/* It may be removed and made again, or a file system mounted over it. */
bool statedir_has_moved(const struct intents *in, bool *ret_gone)
{
	struct stat ours, there;

	*ret_gone = in->at.fd >= 0 && stat(in->dir, &there);
	return in->at.fd >= 0 && (*ret_gone || fstat(in->at.fd, &ours) ||
				  ours.st_dev != there.st_dev || ours.st_ino != there.st_ino);
}

/* ---- the file, written and read */

static int at_create(void *ctx, const char *name)
{
	int fd = openat(*(int *)ctx, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
			0600);

	return fd < 0 ? -errno : fd;
}

static ssize_t at_write(void *ctx, int fd, const char *data, size_t len)
{
	ssize_t n = write(fd, data, len);

	return n < 0 ? -errno : n;
}

static int at_sync(void *ctx, int fd)
{
	return fsync(fd) ? -errno : 0;
}

static int at_close(void *ctx, int fd)
{
	return close(fd) ? -errno : 0;
}

static int at_rename(void *ctx, const char *from, const char *to)
{
	return renameat(*(int *)ctx, from, *(int *)ctx, to) ? -errno : 0;
}

static int at_sync_dir(void *ctx)
{
	return fsync(*(int *)ctx) ? -errno : 0;
}

struct disk disk_at(int *dirfd)
{
	return (struct disk){
		dirfd, at_create, at_write, at_sync, at_close, at_rename, at_sync_dir
	};
}

static int write_all(const struct disk *disk, int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = disk->write(disk->ctx, fd, text, len);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return n ? (int)n : -EIO;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

int intent_replace(const struct disk *disk, const char *text, size_t len)
{
	int fd = len > INTENT_MAX ? -EFBIG : disk->create(disk->ctx, INTENT_NEW);
	int rc, closed;

	if (fd < 0)
		return fd;
	rc = write_all(disk, fd, text, len);
	/* Before the rename: otherwise a crash may leave the new name without content. */
	if (!rc)
		rc = disk->sync(disk->ctx, fd);
	closed = disk->close(disk->ctx, fd); /* NFS reports failed writes here */
	rc = rc ? rc : closed;
	if (!rc)
		rc = disk->rename(disk->ctx, INTENT_NEW, INTENT_FILE);
	return rc ? rc : disk->sync_dir(disk->ctx);
}

int intent_read(int dirfd, char **ret, size_t *ret_len)
{
	_close_ int fd = openat(dirfd, INTENT_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	char *text;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if ((size_t)st.st_size > INTENT_MAX)
		return -EFBIG;
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return -ENOMEM;
	n = read_all(fd, text, (size_t)st.st_size);
	if (n < 0) {
		free(text);
		return (int)n;
	}
	text[n] = '\0';
	*ret = text;
	*ret_len = (size_t)n;
	return 0;
}

/* ---- by a helper: landlock(7) lets this process write only in the directory of its start */

static int ask(struct intents *in, const char *what, const char *text)
{
	return in->world.state(in->world.backend, what, text);
}

/* As intent_replace(). */
static int far_replace(struct intents *in, const char *text, size_t len)
{
	int rc = len > INTENT_MAX ? -EFBIG : ask(in, "create", "");
	char part[WORLD_STATE_TEXT];

	for (size_t n; len && !rc; text += n, len -= n) {
		n = len < sizeof(part) ? len : sizeof(part) - 1;
		memcpy(part, text, n);
		part[n] = '\0';
		rc = ask(in, "append", part);
	}
	rc = rc ? rc : ask(in, "sync", "");
	rc = rc ? rc : ask(in, "rename", "");
	return rc ? rc : ask(in, "sync_dir", "");
}

int statedir_replace(struct intents *in, const char *text, size_t len)
{
	struct disk disk = disk_at(&in->at.fd);

	return in->at.far ? far_replace(in, text, len) : intent_replace(&disk, text, len);
}

/* The helper has the lock only while it writes; the next serving process takes it for good. */
static int open_far(struct intents *in, struct statedir *ret, struct err *err)
{
	int rc = ask(in, "make", "");

	statedir_close(ret);
	*err = (struct err){ 0 };
	ret->fd = rc ? -1 : open(in->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ret->fd < 0)
		return statedir_refuse(in, rc ? rc : -errno, "", err);
	ret->is_volatile = is_volatile(ret->fd);
	ret->far = true;
	return 0;
}

/* The next write stores everything there, but never over another file of intents. */
int statedir_follow(struct intents *in, struct err *err)
{
	struct statedir got = { .fd = -1, .lock_fd = -1 };
	struct err why = { 0 };
	int rc = statedir_open(in, &got, &why);

	in->unsure = true;
	if ((rc == -EACCES || (!rc && got.refused.code == EACCES)) && in->world.state)
		rc = open_far(in, &got, &why);
	if (!rc && (!faccessat(got.fd, INTENT_FILE, F_OK, AT_SYMLINK_NOFOLLOW) || errno != ENOENT))
		rc = fail(&why, EBUSY,
			  "the request cannot be saved: %s is another directory than before, with "
			  "intents of its own; take them up with pcidevfsd --replace, or remove "
			  "them",
			  in->dir);
	if (rc && err)
		*err = why;
	pthread_mutex_lock(&in->lock);
	statedir_close(rc ? &got : &in->at);
	if (!rc)
		in->at = got;
	in->at.refused = why;
	pthread_mutex_unlock(&in->lock);
	return rc;
}
