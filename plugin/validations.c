// SPDX-License-Identifier: GPL-2.0-or-later
/* The files of NVIDIA's validators (spec/peers.md 1.4): there as long as they are true.
 * Nobody knows that while the tree is lost for long. The directory is shared with containers of
 * NVIDIA's operator, which remove all that is in it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include "pcidevfs/err.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"

#include "plugin/kubelet/ready.h"
#include "plugin.h"

enum {
	GAP_MS = 50,	 /* between two looks at the directory */
	AGAIN_MS = 10000, /* after a failure */
	TEXT_MAX = 32,	 /* bytes of a file, and more than any of ours */
};

struct validations {
	struct plugin *p;
	const char *path;
	struct source work;
	struct source changes; /* of the directory; fd -1: it is not watched */
	uint64_t looked;       /* ms */
	int told;	       /* errno that was logged last */
	struct source blind;   /* a lost tree has not come back */
	bool known;	       /* want is that of a tree, or of one that is lost */
	struct ready_file want[READY_FILES];
};

/* ---- the directory */

/* Nobody but root, or our own user, can put something else in the place of what is in it. Above it
 * a directory like /tmp is as good: what is root's there stays. */
static bool is_safe(int fd, bool last)
{
	struct stat st;
	bool others;

	if (fstat(fd, &st) || !S_ISDIR(st.st_mode))
		return false;
	others = st.st_mode & (S_IWGRP | S_IWOTH) && (last || !(st.st_mode & S_ISVTX));
	return !others && (!st.st_uid || st.st_uid == geteuid());
}

/* The next directory of the path, made if it is missing, whatever our umask; never a link. */
static int step_into(int at, const char *name)
{
	bool made = !mkdirat(at, name, 0755);
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && made)
		fchmod(fd, 0755);
	return fd;
}

/* Returns the descriptor or -errno. */
static int open_dir(const char *path, struct err *err)
{
	_free_ char *copy = strdup(path);
	_close_ int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char *rest = NULL;

	if (!copy || fd < 0)
		return fail(err, errno, "%s: %s", path, strerror(errno));
	for (char *name = strtok_r(copy, "/", &rest); name; name = strtok_r(NULL, "/", &rest)) {
		int next = step_into(fd, name);

		if (next < 0)
			return fail(err, errno, "%s: %s: %s", path, name, strerror(errno));
		close(fd);
		fd = next;
		if (!is_safe(fd, false))
			return fail(err, EPERM, "%s: others than root may change %s", path, name);
	}
	if (!is_safe(fd, true))
		return fail(err, EPERM, "%s: others than root may write there", path);
	return steal_fd(&fd);
}

/* ---- a file in it */

/* Is it root's file with just this text? */
static bool reads(int dir, const struct ready_file *f)
{
	_close_ int fd = openat(dir, f->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char text[TEXT_MAX];
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_nlink != 1 ||
	    (st.st_uid && st.st_uid != geteuid()))
		return false;
	n = read(fd, text, sizeof(text));
	return n == (ssize_t)strlen(f->text) && !memcmp(text, f->text, (size_t)n);
}

/* A file of its own each time, renamed: nothing that stands there is followed or written to. */
static int replace(int dir, const struct ready_file *f, const char *fresh)
{
	size_t n = strlen(f->text);
	_close_ int fd = -1;

	if (unlinkat(dir, fresh, 0) && errno != ENOENT)
		return -errno;
	fd = openat(dir, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	errno = EIO;
	if (write(fd, f->text, n) != (ssize_t)n || fchmod(fd, 0644) ||
	    renameat(dir, fresh, dir, f->name)) {
		int code = errno;

		unlinkat(dir, fresh, 0);
		return -code;
	}
	return 0;
}

static int make_so(int dir, const struct ready_file *f, struct err *err)
{
	char fresh[64];
	int r = 0;

	snprintf(fresh, sizeof(fresh), ".pcidevfs.%s", f->name);
	if (!f->text)
		r = unlinkat(dir, f->name, 0) && errno != ENOENT ? -errno : 0;
	else if (!reads(dir, f))
		r = replace(dir, f, fresh);
	return r ? fail(err, -r, "%s: %s", f->name, strerror(-r)) : 0;
}

/* Each, whatever has become of the others; err tells of the last that failed. */
static void make_all_so(int dir, const struct ready_file *files, struct err *err)
{
	for (size_t i = 0; i < READY_FILES; i++)
		make_so(dir, &files[i], err);
}

/* ---- when */

static void unwatch(struct validations *v)
{
	if (v->changes.fd < 0)
		return;
	loop_remove(&v->p->loop, &v->changes);
	drop_fd(&v->changes.fd);
}

static void on_change(struct source *s)
{
	struct validations *v = container_of(s, struct validations, changes);
	char buf[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	bool gone = false;
	ssize_t n;

	while ((n = read(s->fd, buf, sizeof(buf))) > 0)
		for (char *at = buf; at < buf + n;) {
			const struct inotify_event *e = (const void *)at;

			gone |= (e->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT |
					    IN_IGNORED)) != 0;
			at += sizeof(*e) + e->len;
		}
	if (gone)
		unwatch(v);
	source_soon(&v->work, v->looked, GAP_MS);
}

/* Before it is looked at, so that no change is missed. */
static int watch(struct validations *v, int dir, struct err *err)
{
	char path[32];
	int fd;

	if (v->changes.fd >= 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", dir);
	fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (fd < 0 || inotify_add_watch(fd, path,
					IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM |
						IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF) < 0) {
		int code = errno;

		closep(&fd);
		return fail(err, code, "%s cannot be watched: %s", v->path, strerror(code));
	}
	return loop_watch(&v->p->loop, &v->changes, fd, on_change, err);
}

static void look(struct validations *v)
{
	struct err err = { 0 };
	_close_ int dir = open_dir(v->path, &err);

	v->looked = now_ms();
	if (dir >= 0) {
		watch(v, dir, &err); /* without it a look comes after AGAIN_MS */
		make_all_so(dir, v->want, &err);
	}
	if (err.code && err.code != v->told)
		say("NVIDIA's operator is not told what is ready: %s", err.text);
	v->told = err.code;
	if (err.code)
		v->work.at = v->looked + AGAIN_MS;
}

static void on_due(struct source *s)
{
	struct validations *v = container_of(s, struct validations, work);

	if (v->known)
		look(v);
}

void validations_refresh(struct validations *v, const struct ready_cards *cards)
{
	static const struct ready_cards none;
	struct ready_file want[READY_FILES];

	if (!v)
		return;
	if (plugin_is_blind(v->p, &v->blind))
		cards = &none;
	if (!cards)
		return;
	ready_files(cards, want);
	if (v->known && !memcmp(want, v->want, sizeof(want)))
		return;
	memcpy(v->want, want, sizeof(want));
	v->known = true;
	source_soon(&v->work, v->looked, GAP_MS);
}

/* The tree is still lost, or is back and on_news() has told of it. */
static void on_blind(struct source *s)
{
	struct validations *v = container_of(s, struct validations, blind);

	mirror_lock(v->p->tree);
	validations_refresh(v, NULL);
	mirror_unlock(v->p->tree);
}

int validations_new(struct plugin *p, const char *path, struct validations **ret, struct err *err)
{
	struct validations *v;

	if (!path)
		return 0;
	if (*path != '/')
		return fail(err, EINVAL, "--nvidia-validations: %s is not an absolute path", path);
	if (!(v = calloc(1, sizeof(*v))))
		return fail_nomem(err);
	v->p = p;
	v->path = path;
	v->changes.fd = -1;
	loop_timer(&p->loop, &v->work, on_due, UINT64_MAX);
	loop_timer(&p->loop, &v->blind, on_blind, UINT64_MAX);
	*ret = v;
	return 0;
}

/* Nobody keeps them true any more. */
static void withdraw(struct validations *v)
{
	struct err err = { 0 };
	_close_ int dir = open_dir(v->path, &err);

	for (size_t i = 0; i < READY_FILES; i++)
		v->want[i].text = NULL;
	if (dir >= 0)
		make_all_so(dir, v->want, &err);
}

void validations_free(struct validations *v)
{
	if (!v)
		return;
	loop_remove(&v->p->loop, &v->work);
	loop_remove(&v->p->loop, &v->blind);
	unwatch(v);
	if (v->known)
		withdraw(v);
	free(v);
}
