// SPDX-License-Identifier: GPL-2.0-or-later
/* The state directory, and how a change of the records is written atomically. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>

#include "intents.h"
#include "pcidevfs/lockfile.h"
#include "pcidevfs/model.h"

/* ---- the directory */

static int refuse_dir(struct intents *in, int rc, const char *what, struct err *err)
{
	return fail(err, -rc,
		    "the request cannot be saved in %s%s: %s; fix that or choose another directory "
		    "with --state",
		    in->dir, what, strerror(-rc));
}

static const char *way_out(int rc)
{
	return rc == -ENOSPC || rc == -EDQUOT ? "make room there and write again"
					      : "fix that and write again";
}

#define LOCK_NAME "lock"

#define HOLDER_TEXT 300

/* The holder of the lock has written its mount point into it: ", that of PATH,", or "". */
static const char *read_holder(int dirfd, char ret[static HOLDER_TEXT])
{
	_close_ int fd = openat(dirfd, LOCK_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
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
	static const struct timespec pause = { .tv_nsec = 10000000 };
	struct err why = { 0 };
	char where[HOLDER_TEXT];
	int fd;

	/* A former process may just be dying. */
	for (int tries = 0; (fd = lockfile_take(dirfd, LOCK_NAME, &why)) == -EWOULDBLOCK; tries++) {
		if (tries == 50)
			return fail(
				err, EBUSY,
				"another pcidevfsd%s stores its intents in %s; give its mount "
				"point, or another directory with --state",
				read_holder(dirfd, where), in->dir);
		nanosleep(&pause, NULL);
	}
	if (fd < 0)
		fail(err, -fd, "the request cannot be saved in %s/%s; %s", in->dir, why.text,
		     way_out(fd));
	return fd;
}

/* Call it with save held. */
static int keep_lock(struct intents *in, struct err *err)
{
	int fd;

	if (in->lock_fd >= 0 && lockfile_holds(in->lock_fd, in->dirfd, LOCK_NAME))
		return 0;
	fd = take_lock(in, in->dirfd, err);
	if (fd < 0)
		return fd;
	closep(&in->lock_fd);
	in->lock_fd = fd;
	return 0;
}

/* A directory in which no lock can be made (full, read-only) is read, but nothing is written. */
static int open_dir(struct intents *in, struct err *err)
{
	struct err why = { 0 };
	struct statfs fs;
	int fd, lock;

	if (mkdir(in->dir, 0700) && errno != EEXIST)
		return refuse_dir(in, -errno, "", err);
	fd = open(in->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return refuse_dir(in, -errno, "", err);
	lock = take_lock(in, fd, &why);
	if (lock == -EBUSY) {
		close(fd);
		*err = why;
		return lock;
	}
	in->refused = why;
	in->is_volatile =
		!fstatfs(fd, &fs) && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC);
	in->dirfd = fd;
	in->lock_fd = lock;
	return 0;
}

static void close_dir(struct intents *in)
{
	closep(&in->lock_fd);
	closep(&in->dirfd);
}

/* It may be removed and made again, or a file system mounted over it. */
static bool has_moved(const struct intents *in)
{
	struct stat ours, there;

	return in->dirfd >= 0 && (fstat(in->dirfd, &ours) || stat(in->dir, &there) ||
				  ours.st_dev != there.st_dev || ours.st_ino != there.st_ino);
}

/* The next write stores everything there, but never over another file of intents. */
static int follow_dir(struct intents *in, struct err *err)
{
	struct intents got = { .dir = in->dir, .dirfd = -1, .lock_fd = -1 };
	struct err why = { 0 };
	int rc = open_dir(&got, &why);

	in->unsure = true;
	/* landlock(7) allows only the directory that was there at the start */
	if (!rc && got.refused.code == EACCES)
		rc = fail(
			&why, EACCES,
			"the request cannot be saved: %s is another directory than before, and the "
			"daemon may not write there; put the former one back, or restart the "
			"daemon",
			in->dir);
	if (!rc &&
	    (!faccessat(got.dirfd, INTENT_FILE, F_OK, AT_SYMLINK_NOFOLLOW) || errno != ENOENT))
		rc = fail(&why, EBUSY,
			  "the request cannot be saved: %s is another directory than before, with "
			  "intents of its own; take them up with pcidevfsd --replace, or remove "
			  "them",
			  in->dir);
	if (rc)
		close_dir(&got);
	if (rc && err)
		*err = why;
	pthread_mutex_lock(&in->lock);
	in->refused = why;
	if (!rc) {
		close_dir(in);
		in->dirfd = got.dirfd;
		in->lock_fd = got.lock_fd;
		in->is_volatile = got.is_volatile;
	}
	pthread_mutex_unlock(&in->lock);
	return rc;
}

#define DAMAGED INTENT_FILE ".damaged-"

/* The last file that was set aside; "": none. False: unknown. */
static bool find_damaged(const struct intents *in, char *ret, size_t size)
{
	int fd = openat(in->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (!dir && fd >= 0)
		close(fd);
	ret[0] = '\0';
	while (dir && (e = readdir(dir)))
		if (!strncmp(e->d_name, DAMAGED, strlen(DAMAGED)) && strcmp(e->d_name, ret) > 0)
			str_copy(ret, size, e->d_name);
	return dir;
}

/* Reported as long as the file exists, whichever process set it aside. */
static void tell_damaged(struct intents *in, const char *name)
{
	STR_COPY(in->aside, name);
	snprintf(
		in->damaged, sizeof(in->damaged),
		"%s was damaged and is now in %.128s; its requests are not applied: make them "
		"again, then remove that file",
		name, in->dir);
}

void intents_look(struct intents *in)
{
	char last[sizeof(in->aside)];
	bool found, moved;

	if (pthread_mutex_trylock(&in->save)) /* the disk may hang */
		return;
	found = in->damaged[0] && find_damaged(in, last, sizeof(last));
	moved = has_moved(in);
	pthread_mutex_lock(&in->lock);
	in->moved = moved;
	if (found && !last[0])
		in->damaged[0] = '\0';
	else if (found && strcmp(in->aside, last))
		tell_damaged(in, last);
	pthread_mutex_unlock(&in->lock);
	pthread_mutex_unlock(&in->save);
}

/* A file that cannot be parsed may still be useful to a person. */
static int set_aside(struct intents *in, const char *why, struct err *err)
{
	char name[sizeof(in->aside)];
	int rc = 0;

	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), DAMAGED "%lld", (long long)time(NULL) + i);
		rc = renameat2(in->dirfd, INTENT_FILE, in->dirfd, name, RENAME_NOREPLACE) ? -errno
											  : 0;
		if (rc != -EEXIST)
			break;
	}
	if (rc)
		return refuse_dir(in, rc, "/" INTENT_FILE, err);
	STR_COPY(in->aside, name);
	snprintf(in->damaged, sizeof(in->damaged), "%s was set aside as %s: %.160s", INTENT_FILE,
		 name, why);
	return 0;
}

/* A file of an earlier version, or in another form, is rewritten with the next change. */
static int parse(struct intents *in, char *text, size_t len, struct err *err)
{
	uint64_t sum = fnv1a(FNV1A, text, len);
	int rc = intent_parse(text, len, &in->rs, err);
	struct out again = { 0 };

	if (rc)
		return rc;
	intent_format(&in->rs, &again);
	in->unsure = again.failed || fnv1a(FNV1A, again.data, again.len) != sum;
	out_free(&again);
	return 0;
}

/* A file that exists but cannot be read is not overwritten either. */
static int load(struct intents *in, struct err *err)
{
	struct err why = { 0 };
	char *text;
	size_t len;
	int rc = intent_read(in->dirfd, &text, &len);

	if (rc == -ENOENT)
		return 0;
	if (rc == -EINVAL || rc == -EFBIG || rc == -ELOOP)
		return set_aside(in, rc == -EFBIG ? "it is too large" : "it is not a regular file",
				 err);
	if (rc)
		return refuse_dir(in, rc, "/" INTENT_FILE, err);
	rc = parse(in, text, len, &why);
	free(text);
	if (!rc)
		return 0;
	return rc == -ENOMEM ? fail(err, ENOMEM, "no memory to read %s/" INTENT_FILE, in->dir)
			     : set_aside(in, why.text, err);
}

/* Loads into another struct, so that nobody waits with lock held for a directory that hangs. */
int intents_ready(struct intents *in, struct err *err)
{
	struct intents got = { .dir = in->dir, .dirfd = -1, .lock_fd = -1 };
	struct err why = { 0 };
	char last[sizeof(got.aside)];
	int rc;

	if (in->dirfd >= 0 && !in->broken.code)
		return 0;
	rc = open_dir(&got, &why);
	if (!rc && find_damaged(&got, last, sizeof(last)) && last[0])
		tell_damaged(&got, last);
	if (!rc)
		rc = load(&got, &why);
	if (rc)
		close_dir(&got);
	in->adopt(in->m, &got.rs);
	for (size_t i = 0; i < got.rs.n; i++)
		got.n_owned += got.rs.v[i]->n_owners > 0;
	pthread_mutex_lock(&in->lock);
	in->broken = why;
	if (!rc) {
		in->dirfd = got.dirfd;
		in->lock_fd = got.lock_fd;
		in->refused = got.refused;
		in->is_volatile = got.is_volatile;
		in->unsure = got.unsure;
		model_lock(in->m);
		in->rs = got.rs;
		in->places_known = false;
		model_unlock(in->m);
		in->n_owned = got.n_owned;
		STR_COPY(in->damaged, got.damaged);
		STR_COPY(in->aside, got.aside);
	}
	pthread_mutex_unlock(&in->lock);
	if (rc && err)
		*err = why;
	return rc;
}

/* ---- a change */

int rewrite_begin(struct rewrite *w, struct intents *in, struct err *err)
{
	int rc = intents_ready(in, err);

	*w = (struct rewrite){ .in = in };
	if (rc)
		return rc;
	w->next.other = in->rs.other;
	for (size_t i = 0; i < in->rs.n && !rc; i++)
		rc = records_add(&w->next, in->rs.v[i]);
	if (rc) {
		rewrite_abort(w);
		return fail(err, ENOMEM, "no memory for the stored intents");
	}
	return 0;
}

static void look_away(struct rewrite *w)
{
	if (w->pass)
		w->pass_free(w->pass);
	free(w->pass);
	w->pass = NULL;
}

void rewrite_abort(struct rewrite *w)
{
	look_away(w);
	for (size_t i = 0; i < w->next.n; i++)
		if (w->next.v[i] && w->next.v[i]->fresh)
			record_free(w->next.v[i]);
	free(w->next.v);
	w->next = (struct records){ 0 };
}

static int write_out(struct intents *in, const struct out *text, struct err *err)
{
	struct disk disk = disk_at(&in->dirfd);
	struct err why = { 0 };
	uint64_t before = now_us();
	int rc = keep_lock(in, &why);
	unsigned int took;

	if (!rc && (rc = intent_check(text, &why)))
		fail_wrap(&why, "the request cannot be saved");
	else if (!rc && (rc = intent_replace(&disk, out_text(text), text->len)))
		fail(&why, -rc, "the request cannot be saved in %s/" INTENT_FILE ": %s; %s", in->dir,
		     strerror(-rc), way_out(rc));
	took = (unsigned int)(now_us() - before);
	pthread_mutex_lock(&in->lock);
	in->sync_us = took;
	in->sync_max_us = took > in->sync_max_us ? took : in->sync_max_us;
	in->refused = why;
	pthread_mutex_unlock(&in->lock);
	in->unsure = rc;
	if (rc && err)
		*err = why;
	return rc;
}

/* "" without a record. */
static void line_of(const struct record *r, struct out *o)
{
	if (r)
		intent_format(&(const struct records){ .v = (struct record **)&r, .n = 1 }, o);
}

static bool same_line(const struct record *a, const struct record *b)
{
	struct out x = { 0 }, y = { 0 };
	bool same;

	if (a == b)
		return true;
	line_of(a, &x);
	line_of(b, &y);
	same = !x.failed && !y.failed && !strcmp(out_text(&x), out_text(&y));
	out_free(&x);
	out_free(&y);
	return same;
}

/* Does the file say this? Only changed records are formatted, because thousands would take time. */
static bool is_on_disk(const struct rewrite *w)
{
	const struct records *now = &w->in->rs, *next = &w->next;

	for (size_t i = 0; i < next->n && !w->in->unsure; i++)
		if (!same_line(i < now->n ? now->v[i] : NULL, next->v[i]))
			return false;
	return !w->in->unsure;
}

static void publish(struct rewrite *w)
{
	struct intents *in = w->in;
	size_t n = 0;

	look_away(w);
	pthread_mutex_lock(&in->lock);
	model_lock(in->m);
	in->places_known = false;
	for (size_t i = 0; i < in->rs.n; i++)
		if (w->next.v[i] != in->rs.v[i])
			record_free(in->rs.v[i]);
	in->n_owned = 0;
	for (size_t i = 0; i < w->next.n; i++) {
		struct record *r = w->next.v[i];

		if (!r)
			continue;
		r->fresh = false;
		in->n_owned += r->n_owners > 0;
		w->next.v[n++] = r;
	}
	w->next.n = n;
	free(in->rs.v);
	in->rs = w->next;
	model_unlock(in->m);
	pthread_mutex_unlock(&in->lock);
}

int rewrite_commit(struct rewrite *w, struct err *err)
{
	struct intents *in = w->in;
	struct out text = { 0 };
	int rc = has_moved(in) ? follow_dir(in, err) : 0;

	if (!rc && rewrite_merge(w))
		rc = fail(err, ENOMEM, "no memory for the stored intents");
	if (!rc && !is_on_disk(w)) {
		intent_format(&w->next, &text);
		rc = text.failed ? fail(err, ENOMEM, "no memory for the stored intents")
				 : write_out(in, &text, err);
		out_free(&text);
	}
	if (rc && !w->optional)
		rewrite_abort(w);
	else
		publish(w);
	return w->optional ? 0 : rc;
}

