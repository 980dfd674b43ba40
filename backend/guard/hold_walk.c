// SPDX-License-Identifier: GPL-2.0-or-later
/* Walks the processes and their descriptors. Other processes decide how much that is and, by the
 * file systems they use, whether a look at it ever ends. So there is a budget, a shared table is
 * read once, and the walk runs on a thread that is abandoned if a call hangs. */
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "devpath.h"
#include "hold.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/thread.h"
#include "pcidevfs/util.h"

#define HANG_MS 250
#define SHARED_MIN 32 /* descriptors; a smaller table is simply read again */
#define ROOT_TRUSTED (HOLD_ROOT / 4)
#define LISTED_MAX 16 /* named processes of a user */
#define LEFT HOLD_LEFT
#define USB_MAJOR 189
#define VFIO_DEVICE "anon_inode:[vfio-device]"
#define VFIO_PATH "vfio-device-syspath: /sys/"

struct walk {
	const struct sysfs *s;
	struct hold_nodes *nodes;
	struct hold_found *found;
	struct hold_budget budget;
	DIR *procs;
	bool real;    /* proc is this kernel's, with our pids */
	bool counted; /* proc tells how many files a process has open */
	bool has_kcmp;
	struct hold_tables tables;
	struct hold_own own;
	/* A thread of the kernel, 0 none yet: all of them share one table, an empty one. */
	pid_t kernel;
	/* The process that is read now. */
	pid_t pid;
	struct hold_user *user;
	bool refused, unknown, vfio, anonymous;

	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool over;		/* lock */
	int rc;			/* lock */
	_Atomic pid_t tid;	/* the walking thread */
	_Atomic uint64_t calls; /* odd: within a call that may hang */
	atomic_uint users;	/* the caller, and each thread that still runs */
};

/* A descriptor table. */
struct fd_table {
	struct walk *w;
	char path[48]; /* "812", "812/task/813" */
	int fd;	       /* its directory */
	uint32_t left; /* how many more may be read */
};

/* ---- calls that may hang */

static uint64_t enter(struct walk *w)
{
	return atomic_fetch_add(&w->calls, 1) + 1;
}

/* False: another thread walks now; this one must not touch the walk. */
static bool leave(struct walk *w, uint64_t call)
{
	return atomic_compare_exchange_strong(&w->calls, &call, call + 1);
}

static int note_unknown(struct walk *w)
{
	struct hold_found *f = w->found;

	f->n_unknown++;
	if (++w->user->unknown > LISTED_MAX)
		return 0;
	return hold_add_pid(&f->unknown, &f->n_listed, &f->cap_unknown, w->pid);
}

static int note_refused(struct walk *w, int error)
{
	int rc = hold_is_refused(error);

	w->refused |= rc > 0;
	return rc < 0 ? rc : 0;
}

/* ---- one descriptor */

struct named_device {
	struct walk *w;
	int rc;
};

static void found_device(void *ctx, const struct key *dev)
{
	struct named_device *d = ctx;

	d->rc = d->rc ? d->rc : hold_add(d->w->found, dev, d->w->pid, false);
}

/* A VFIO device whose group descriptor may be closed. Since 6.18 the kernel names the device. */
static int add_device(struct fd_table *t, const char *name)
{
	struct walk *w = t->w;
	struct named_device device = { .w = w };
	char text[SYSFS_VALUE], *path;
	int rc = sysfs_read(w->s, ROOT_PROC, text, sizeof(text), "%s/fdinfo/%s", t->path, name);

	if (rc < 0)
		return note_refused(w, -rc);
	path = strstr(text, VFIO_PATH);
	if (path) {
		path += strlen(VFIO_PATH);
		path[strcspn(path, "\n")] = '\0';
	}
	w->anonymous |= !path || !devpath_devices(w->s, path, found_device, &device);
	return device.rc;
}

/* A descriptor made with O_PATH, which anybody can have of any node, cannot act; neither can one of
 * usbfs or of a disk that is not open for writing. Access mode 3, for ioctl only, shows no bits
 * either, but can act. */
static bool can_act(const struct fd_table *t, const char *name, const struct statx *st)
{
	bool writes_only = S_ISBLK(st->stx_mode) ||
			   (S_ISCHR(st->stx_mode) && st->stx_rdev_major == USB_MAJOR);
	char text[SYSFS_VALUE];
	const char *flags;
	struct stat link;

	if (fstatat(t->fd, name, &link, AT_SYMLINK_NOFOLLOW))
		return false;
	if (link.st_mode & (S_IRUSR | S_IWUSR))
		return link.st_mode & (writes_only ? S_IWUSR : S_IRUSR | S_IWUSR);
	if (sysfs_read(t->w->s, ROOT_PROC, text, sizeof(text), "%s/fdinfo/%s", t->path, name) < 0)
		return true;
	flags = strstr(text, "flags:");
	return !flags || !(strtoul(flags + 6, NULL, 8) & O_PATH);
}

static int add_rows(struct fd_table *t, const char *name, const struct statx *st)
{
	struct walk *w = t->w;
	size_t n;
	struct hold_node *rows = hold_nodes_find(w->nodes, st, &n);
	int rc = w->nodes->error;

	/* A process may have it open a thousand times. */
	if (rc || !n || !rows->device.bus || rows->last == w->pid || !can_act(t, name, st))
		return rc;
	for (size_t i = 0; i < n && !rc; i++) {
		rows[i].last = w->pid;
		w->vfio |= rows[i].vfio;
		rc = hold_add(w->found, &rows[i].device, w->pid, false);
	}
	return rc;
}

/* If statx() fails, the file system has no device nodes. */
static int follow(struct fd_table *t, const char *name)
{
	struct walk *w = t->w;
	uint64_t call = enter(w);
	struct statx st;
	bool is_sysfs;
	int rc = statx(t->fd, name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE | STATX_INO,
		       &st)
			 ? -errno
			 : 0;

	if (!leave(w, call))
		return LEFT;
	if (rc)
		return rc == -ENOMEM ? rc : 0;
	if (hold_nodes_asks(w->nodes, &st)) {
		call = enter(w);
		is_sysfs = hold_is_sysfs(t->fd, name);
		if (!leave(w, call))
			return LEFT;
		hold_nodes_told(w->nodes, &st, is_sysfs);
	}
	return add_rows(t, name, &st);
}

/* The link's text only serves to skip nameless files (sockets, pipes), which cannot be nodes. */
static int visit_descriptor(struct fd_table *t, const char *name)
{
	char text[sizeof(VFIO_DEVICE)];
	ssize_t n = readlinkat(t->fd, name, text, sizeof(text));

	if (n < 0 && errno != ENAMETOOLONG)
		return note_refused(t->w, errno);
	if (n == strlen(VFIO_DEVICE) && !memcmp(text, VFIO_DEVICE, (size_t)n))
		return add_device(t, name);
	return n > 0 && !strchr("/(.", text[0]) ? 0 : follow(t, name);
}

/* ---- one table */

static int visit_table(struct fd_table *t)
{
	struct walk *w = t->w;
	_closedir_ DIR *dir = sysfs_dir(w->s, ROOT_PROC, "%s/fd", t->path);
	struct dirent *e;
	int rc = 0;

	if (!dir)
		return note_refused(w, errno);
	t->fd = dirfd(dir);
	while (!rc && (errno = 0, e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		if (!t->left || !hold_take(&w->budget, w->user, 1)) {
			w->unknown = true;
			return 0;
		}
		t->left--;
		rc = visit_descriptor(t, e->d_name);
	}
	return rc || !errno ? rc : note_refused(w, errno);
}

/* Orders two tables as kcmp(2) does. */
static int compare_tables(void *ctx, pid_t a, pid_t b)
{
	struct walk *w = ctx;
	uint64_t call = enter(w);
	int rc = (int)syscall(SYS_kcmp, a, b, KCMP_FILES, 0, 0);

	rc = rc < 0 ? -errno : rc;
	return leave(w, call) ? rc : LEFT;
}

/* A thread that shares its process's table is skipped. */
static int visit_thread(struct walk *w, struct fd_table *t, pid_t tid)
{
	int rc = 2;

	if (!hold_take(&w->budget, w->user, 1)) {
		w->unknown = true;
		return 0;
	}
	if (w->real)
		rc = compare_tables(w, w->pid, tid);
	if (rc == LEFT || rc <= 0)
		return rc == LEFT ? rc : 0;
	rc = w->real ? hold_tables_has(&w->tables, tid) : 0;
	if (rc)
		return rc < 0 ? rc : 0;
	snprintf(t->path, sizeof(t->path), "%d/task/%d", (int)w->pid, (int)tid);
	return visit_table(t);
}

static int visit_threads(struct walk *w, struct fd_table *t)
{
	_closedir_ DIR *dir = sysfs_dir(w->s, ROOT_PROC, "%d/task", (int)w->pid);
	struct dirent *e;
	uint64_t tid;
	int rc = 0;

	if (!dir)
		return note_refused(w, errno);
	while (!rc && !w->unknown && (errno = 0, e = readdir(dir)))
		if (!parse_u64(e->d_name, INT32_MAX, &tid) && (pid_t)tid != w->pid)
			rc = visit_thread(w, t, (pid_t)tid);
	return rc;
}

/* ---- one process */

/* Any process can look like root's by not being dumpable. If that costs much, status is read. */
static struct hold_user *user_of(struct walk *w, pid_t pid)
{
	struct hold_user *user;
	struct hold_who who;
	struct stat st;
	char path[16];

	snprintf(path, sizeof(path), "%d", (int)pid);
	user = hold_user(&w->budget, fstatat(w->s->fd[ROOT_PROC], path, &st, 0) ? 0 : st.st_uid);
	if (!user->uid && user->used > ROOT_TRUSTED && hold_who(w->s, pid, &who))
		user = hold_user(&w->budget, who.uid);
	return user;
}

static void begin_process(struct walk *w, struct fd_table *t, pid_t pid, struct hold_user *user)
{
	*t = (struct fd_table){ .w = w, .left = HOLD_PROCESS };
	snprintf(t->path, sizeof(t->path), "%d", (int)pid);
	w->pid = pid;
	w->user = user;
	w->refused = w->unknown = w->vfio = w->anonymous = false;
}

/* Of the daemon: what it was started with. */
static int visit_outputs(struct walk *w, pid_t pid)
{
	static const char *const names[] = { "0", "1", "2" };
	_closedir_ DIR *dir = sysfs_dir(w->s, ROOT_PROC, "%d/fd", (int)pid);
	struct fd_table t;
	int rc = 0;

	begin_process(w, &t, pid, hold_user(&w->budget, 0));
	t.fd = dir ? dirfd(dir) : -1;
	for (size_t i = 0; i < ARRAY_SIZE(names) && dir && !rc; i++)
		rc = visit_descriptor(&t, names[i]);
	return rc;
}

/* Most processes are threads of the kernel: two calls are much for each. */
static int visit_process(struct walk *w, pid_t pid)
{
	struct fd_table t;
	size_t threads;
	off_t files;
	int rc = 1;

	w->pid = pid;
	w->user = NULL;
	if (w->kernel)
		rc = compare_tables(w, pid, w->kernel);
	if (rc == LEFT || !rc)
		return rc;
	threads = hold_count_threads(w->s, pid);
	files = hold_count_files(w->s, pid);
	if (w->counted && !files && threads <= 1) {
		if (w->has_kcmp && !w->kernel && hold_is_kernel(w->s, pid))
			w->kernel = pid;
		return 0;
	}
	rc = 0;
	begin_process(w, &t, pid, user_of(w, pid));
	if (w->has_kcmp && (!w->counted || files >= SHARED_MIN || threads > 1))
		rc = hold_tables_has(&w->tables, pid);
	if (!rc)
		rc = visit_table(&t);
	if (rc >= 0 && threads > 1 && (w->has_kcmp || !w->real))
		rc = visit_threads(w, &t);
	if (rc < 0)
		return rc;
	if (w->refused && !w->found->n_unseen++)
		w->found->unseen = pid;
	rc = w->unknown ? note_unknown(w) : 0;
	if (!rc && w->anonymous && !w->vfio)
		rc = hold_add_pid(&w->found->anonymous, &w->found->n_anonymous,
			     &w->found->cap_anonymous, pid);
	return rc;
}

/* ---- all of them */

static int visit_listed(struct walk *w, pid_t pid)
{
	enum hold_part part = hold_own_part(&w->own, pid);

	if (part == HOLD_NOTHING)
		return 0;
	return part == HOLD_OUTPUTS ? visit_outputs(w, pid) : visit_process(w, pid);
}

static int visit_processes(struct walk *w)
{
	struct dirent *e;
	uint64_t pid;
	pid_t left;
	int rc = 0;

	while (!rc && (errno = 0, e = readdir(w->procs)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' &&
		    !parse_u64(e->d_name, INT32_MAX, &pid))
			rc = visit_listed(w, (pid_t)pid);
	rc = rc ? rc : -errno;
	if (!rc)
		hold_own_check(&w->own, w->s);
	while (!rc && (left = hold_own_left(&w->own)))
		rc = visit_process(w, left);
	return rc;
}

/* The last user frees it, which may be an abandoned thread. */
static void walk_put(struct walk *w)
{
	if (atomic_fetch_sub(&w->users, 1) > 1)
		return;
	pthread_cond_destroy(&w->ended);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

static void *walk_main(void *arg)
{
	struct walk *w = arg;
	int rc;

	atomic_store(&w->tid, (pid_t)syscall(SYS_gettid));
	rc = visit_processes(w);
	if (rc != LEFT) {
		pthread_mutex_lock(&w->lock);
		w->rc = rc;
		w->over = true;
		pthread_cond_signal(&w->ended);
		pthread_mutex_unlock(&w->lock);
	}
	walk_put(w);
	return NULL;
}

/* Waits until the walk has ended; LEFT if it hangs and is abandoned. */
static int wait_for(struct walk *w)
{
	uint64_t call = 0;
	bool over = false;

	while (!over) {
		struct timespec until = in_ms(HANG_MS);
		uint64_t now;
		int rc = 0;

		pthread_mutex_lock(&w->lock);
		while (!w->over && rc != ETIMEDOUT)
			rc = pthread_cond_timedwait(&w->ended, &w->lock, &until);
		over = w->over;
		pthread_mutex_unlock(&w->lock);
		now = atomic_load(&w->calls);
		if (!over && now % 2 && now == call && !thread_runs(atomic_load(&w->tid)) &&
		    leave(w, call))
			return LEFT;
		call = now;
	}
	return w->rc;
}

static int walk_all(struct walk *w)
{
	int rc = LEFT;

	while (rc == LEFT) {
		pthread_t thread;

		atomic_fetch_add(&w->users, 1);
		rc = thread_start(&thread, walk_main, w);
		if (rc) {
			walk_put(w);
			return rc;
		}
		rc = wait_for(w);
		if (rc != LEFT) {
			pthread_join(thread, NULL);
			return rc;
		}
		pthread_detach(thread);
		w->found->hangs = true;
		w->user = w->user ? w->user : user_of(w, w->pid);
		hold_charge(&w->budget, w->user, HOLD_HANG);
		if (note_unknown(w))
			return -ENOMEM;
	}
	return rc;
}

int hold_walk(const struct sysfs *s, const struct hold_asker *asker, struct hold_nodes *nodes,
	      struct hold_found *ret)
{
	struct walk *w = calloc(1, sizeof(*w));
	struct stat st;
	int rc;

	if (!w)
		return -ENOMEM;
	*w = (struct walk){ .s = s, .nodes = nodes, .found = ret, .users = 1 };
	w->tables = (struct hold_tables){ .compare = compare_tables, .ctx = w };
	pthread_mutex_init(&w->lock, NULL);
	cond_init(&w->ended);
	w->procs = sysfs_dir(s, ROOT_PROC, ".");
	rc = w->procs ? 0 : -errno;
	w->real = hold_tables_own(s);
	w->has_kcmp = w->real && !syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILES, 0, 0);
	if (w->real && asker)
		hold_own_open(&w->own, s, asker);
	w->counted = !fstatat(s->fd[ROOT_PROC], "self/fd", &st, 0) && st.st_size;
	rc = rc ? rc : walk_all(w);
	closedirp(&w->procs);
	free(w->tables.tids);
	walk_put(w);
	return rc;
}
