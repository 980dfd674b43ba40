// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "oplog.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "control.h"
#include "pcidevfs/err.h"
#include "pcidevfs/intent.h"
#include "pcidevfs/lockfile.h"
#include "pcidevfs/util.h"

#define SIZE ((size_t)1 << 30) /* for ever; sparse: the engine reserves what it touches */
#define AWAIT_MS 100

/* The state directory is locked by us, so the file is nobody else's: one that we do not get is made
 * anew, or a later process would take old operations for those that run. */
static int take(struct oplog *l, int dir, struct err *err)
{
	int fd = lockfile_await(dir, l->name, AWAIT_MS, NULL);

	if (fd >= 0)
		return fd;
	unlinkat(dir, l->name, 0);
	return lockfile_take(dir, l->name, err);
}

/* A mapping keeps what it was made of open, and its lock, for as long as anybody looks at our
 * memory, for example at our command line: the lock is on another one. The head is allocated now,
 * so that we know at once whether operations can be recorded. */
static int map(struct oplog *l, int dir, struct err *err)
{
	_close_ int fd = openat(dir, l->name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	void *at = MAP_FAILED;

	if (fd >= 0 && lockfile_holds(fd, dir, l->name) && lockfile_holds(l->fd, dir, l->name) &&
	    !ftruncate(fd, SIZE) && !fallocate(fd, 0, 0, JOURNAL_HEAD))
		at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (at == MAP_FAILED)
		return fail(err, errno ? errno : EIO, "%s: %s", l->name, strerror(errno));
	l->conf.at = at;
	l->conf.size = SIZE;
	l->conf.fd = l->fd;
	l->conf.of = l->of;
	return 0;
}

void oplog_open(struct oplog *l, const struct intents *in, const char *boot_id)
{
	struct err *why = &l->conf.why;
	char id[48] = "";
	_close_ int dir = -1;
	struct stat st;
	int fd;

	if (intents_place(in, &st))
		snprintf(id, sizeof(id), "%u:%u:%ju", major(st.st_dev), minor(st.st_dev),
			 (uintmax_t)st.st_ino);
	snprintf(l->name, sizeof(l->name), "operations-%s", id);
	snprintf(l->of, sizeof(l->of), "%s %s", boot_id, id);
	dir = id[0] ? control_dir(true, why) : fail(why, ENOENT, "no state directory");
	fd = dir < 0 ? dir : take(l, dir, why);
	l->fd = fd < 0 ? 0 : fd;
	if (fd < 0 || map(l, dir, why))
		fail_wrap(why, "devices will read stuck if pcidevfsd is killed during an "
			       "operation, which cannot be recorded in " CONTROL_DIR);
}

void oplog_close(struct oplog *l, bool done)
{
	_close_ int dir = l->fd && done ? control_dir(false, NULL) : -1;

	if (dir >= 0 && lockfile_holds(l->fd, dir, l->name))
		unlinkat(dir, l->name, 0);
	if (l->conf.at)
		munmap(l->conf.at, l->conf.size);
	if (l->fd)
		close(l->fd);
	*l = (struct oplog){ 0 };
}
