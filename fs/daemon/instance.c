// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "instance.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "control.h"
#include "pcidevfs/err.h"
#include "pcidevfs/intent.h"
#include "pcidevfs/lockfile.h"
#include "pcidevfs/util.h"

#define ENTRY "daemon-"

#define LOG_SIZE ((size_t)1 << 30) /* for ever; sparse: the engine reserves what it touches */

enum { ENTRIES_MAX = 256, TEST_MS = 20, LOG_AWAIT_MS = 100 };

/* Has the entry's process ended? If so removes the entry: no other process has that name. */
static bool is_dead(int dir, const char *name)
{
	_close_ int fd =
		openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB))
		return fd < 0 || errno != EWOULDBLOCK;
	if (lockfile_holds(fd, dir, name))
		unlinkat(dir, name, 0);
	return true;
}

/* Returns 0 or -errno. Somebody may just be testing whether our entry is dead. */
static int take(struct instance *i, int dir, struct err *err)
{
	int fd = 0;

	pthread_mutex_lock(&i->lock);
	if (i->fd < 0 || !lockfile_holds(i->fd, dir, i->name)) {
		fd = lockfile_await(dir, i->name, TEST_MS, err);
		if (fd >= 0) {
			closep(&i->fd);
			i->fd = fd;
		}
	}
	pthread_mutex_unlock(&i->lock);
	if (fd < 0)
		fail_wrap(err, CONTROL_DIR);
	return fd < 0 ? fd : 0;
}

int instance_others(struct instance *i, struct err *err)
{
	_close_ int dir = control_dir(true, err);
	_closedir_ DIR *entries = NULL;
	const struct dirent *e;
	char path[32];
	int r;

	if (dir < 0)
		return dir;
	if (!i->name[0])
		return fail(err, ENOENT, "this sysfs cannot be distinguished from others");
	r = take(i, dir, err);
	if (r)
		return r;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", dir);
	entries = opendir(path);
	if (!entries)
		return fail(err, errno, CONTROL_DIR ": %s", strerror(errno));
	for (int n = 0; n < ENTRIES_MAX && (e = readdir(entries)); n++) {
		if (strncmp(e->d_name, ENTRY, strlen(ENTRY)) != 0 || !strcmp(e->d_name, i->name) ||
		    is_dead(dir, e->d_name) || strncmp(e->d_name, i->name, i->sysfs) != 0)
			continue;
		fail(err, EBUSY,
		     "another pcidevfsd works on this sysfs (pid %.40s), or a former process of "
		     "this one hangs in the kernel; each of two daemons treats the other's claims "
		     "as foreign: end one of them",
		     strncmp(e->d_name, i->name, i->space) ? "in another pid namespace"
							   : e->d_name + i->space);
		return 1;
	}
	return 0;
}

void instance_enter(struct instance *i, const char *sysfs)
{
	_close_ int dir = -1;
	struct stat tree, space;

	pthread_mutex_init(&i->lock, NULL);
	i->fd = -1;
	if (stat(sysfs, &tree) || stat("/proc/self/ns/pid", &space))
		return;
	i->sysfs = (size_t)snprintf(i->name, sizeof(i->name), ENTRY "%u:%u:%ju-",
				    major(tree.st_dev), minor(tree.st_dev), (uintmax_t)tree.st_ino);
	i->space = i->sysfs + (size_t)snprintf(i->name + i->sysfs, sizeof(i->name) - i->sysfs,
					       "%ju-", (uintmax_t)space.st_ino);
	snprintf(i->name + i->space, sizeof(i->name) - i->space, "%d", (int)getpid());
	dir = control_dir(true, NULL);
	if (dir >= 0)
		take(i, dir, NULL);
}

void instance_leave(struct instance *i)
{
	_close_ int dir = i->name[0] ? control_dir(false, NULL) : -1;

	if (dir >= 0 && i->fd >= 0 && lockfile_holds(i->fd, dir, i->name))
		unlinkat(dir, i->name, 0);
	if (i->name[0])
		drop_fd(&i->fd);
}

void instance_health(struct instance *i, struct out *o)
{
	struct err err = { 0 };
	int r = instance_others(i, &err);

	out_printf(o, "alone=%s", r < 0 ? "unknown" : r ? "no" : "yes");
	if (r)
		out_pair(o, "hint", err.text);
	out_printf(o, "\n");
}

void instance_boot_id(const char *proc, char ret[static BOOT_ID])
{
	_free_ char *path = NULL, *text = NULL;

	if (asprintf(&path, "%s/sys/kernel/random/boot_id", proc) >= 0)
		text = file_text(AT_FDCWD, path);
	str_copy(ret, BOOT_ID, text ? text : "unknown");
	ret[strcspn(ret, "\n")] = '\0';
}

/* ---- the file of running operations */

/* The state directory is locked by us, so the file is nobody else's: one that we do not get is made
 * anew, or a later process would take old operations for those that run. */
static int take_log(struct oplog *l, int dir, struct err *err)
{
	int fd = lockfile_await(dir, l->name, LOG_AWAIT_MS, NULL);

	if (fd >= 0)
		return fd;
	unlinkat(dir, l->name, 0);
	return lockfile_take(dir, l->name, err);
}

/* A mapping keeps what it was made of open, and its lock, for as long as anybody looks at our
 * memory, for example at our command line: the lock is on another one. The head is allocated now,
 * so that we know at once whether operations can be recorded. */
static int map_log(struct oplog *l, int dir, struct err *err)
{
	_close_ int fd = openat(dir, l->name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	void *at = MAP_FAILED;

	if (fd >= 0 && lockfile_holds(fd, dir, l->name) && lockfile_holds(l->fd, dir, l->name) &&
	    !ftruncate(fd, LOG_SIZE) && !fallocate(fd, 0, 0, JOURNAL_HEAD))
		at = mmap(NULL, LOG_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
			  0);
	if (at == MAP_FAILED)
		return fail(err, errno ? errno : EIO, "%s: %s", l->name, strerror(errno));
	l->conf.at = at;
	l->conf.size = LOG_SIZE;
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
	fd = dir < 0 ? dir : take_log(l, dir, why);
	l->fd = fd < 0 ? 0 : fd;
	if (fd < 0 || map_log(l, dir, why))
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
