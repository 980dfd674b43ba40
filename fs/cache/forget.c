// SPDX-License-Identifier: GPL-2.0-or-later
#define FUSE_USE_VERSION 312
#include "forget.h"

#include <errno.h>
#include <fuse_lowlevel.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fs/internal.h"
#include "pcidevfs/err.h"
#include "pcidevfs/pool.h"
#include "pcidevfs/thread.h"
#include "pcidevfs/util.h"

#define NOTIFY_INC_EPOCH 8 /* FUSE_NOTIFY_INC_EPOCH, Linux 6.16 */

enum {
	DROPPERS = 4,
	DROPS_MAX = 64, /* limit of waiting drops; further ones are left out */
	DROP_MS = 10,
	EPOCH_MS = 2,
};

void forget_note(struct forgets *notes, uint64_t ino, enum forget_what what, const char *name)
{
	struct forget *v = notes ? more_rows(notes->v, notes->n, &notes->cap, sizeof(*v)) : NULL;

	if (!v)
		return; /* no memory: the kernel shows the old entry until it asks again */
	notes->v = v;
	v[notes->n].ino = ino;
	v[notes->n].what = what;
	STR_COPY(v[notes->n++].name, name);
}

static bool next_epoch(int fuse_fd)
{
	struct fuse_out_header epoch = { .len = sizeof(epoch), .error = NOTIFY_INC_EPOCH };

	return write(fuse_fd, &epoch, sizeof(epoch)) == (ssize_t)sizeof(epoch);
}

bool forget_entries(struct tree *t)
{
	if (atomic_load(&t->no_epochs))
		return false;
	if (next_epoch(t->fuse_fd))
		return true;
	if (errno == EINVAL)
		atomic_store(&t->no_epochs, true);
	return false;
}

/* off: -1: the attributes alone; 0: the pages, too. */
static void inval(struct tree *t, uint64_t ino, off_t off)
{
	for (unsigned int i = 0, n = objects_known(t->objects, ino); t->se && i < n; i++)
		fuse_lowlevel_notify_inval_inode(t->se, objects_twin(ino, i), off, 0);
}

void forget_attr(struct tree *t, uint64_t ino)
{
	inval(t, ino, -1);
}

/* The kernel keeps a list as long as the mtime is the same. A reader between the change and its
 * mtime lists the new entries, and once more later. The kernel asks for the mtime anew before the
 * lock is free: whoever has then found or missed a name by its path lists what is there. */
void forget_list(struct tree *t, uint64_t ino)
{
	uint64_t now = now_real_ns(), was = atomic_load(&t->listed_at);

	atomic_store(&t->listed_at, now > was ? now : was + 1);
	forget_attr(t, ino);
}

/* ---- threads that may have to wait: on a kernel without epochs, or if epochs came too often */

struct droppers {
	struct pool *pool;
	int fuse_fd;
	pthread_mutex_t lock;
	pthread_cond_t done;
	unsigned int waiting;	   /* drops; lock */
	_Atomic uint64_t epoch_at; /* ms: the last epoch for a path */
	atomic_bool epoch_due;	   /* another one is scheduled */
	atomic_bool lags;	   /* a path was dropped by name */
};

struct drop {
	struct droppers *by;
	struct forgets notes;
};

int forget_start(struct tree *t, struct err *err)
{
	struct droppers *by = calloc(1, sizeof(*by));
	int r = by ? pool_new(DROPPERS, &by->pool, err) : fail_nomem(err);

	if (r) {
		free(by);
		return r;
	}
	by->fuse_fd = t->fuse_fd;
	pthread_mutex_init(&by->lock, NULL);
	cond_init(&by->done);
	t->droppers = by;
	return 0;
}

/* Not FUSE_NOTIFY_DELETE: that waits for files that are being written. */
static void drop_entry(int fuse_fd, const struct forget *f)
{
	struct {
		struct fuse_out_header head;
		struct fuse_notify_inval_entry_out entry;
		char name[OBJECT_NAME];
	} msg = { .head = { .error = FUSE_NOTIFY_INVAL_ENTRY },
		  .entry = { .parent = f->ino, .namelen = (uint32_t)strlen(f->name) } };

	STR_COPY(msg.name, f->name);
	msg.head.len = (uint32_t)(offsetof(typeof(msg), name) + msg.entry.namelen + 1);
	if (write(fuse_fd, &msg, msg.head.len) < 0)
		return; /* ENOENT: the kernel does not know the entry */
}

/* Returns how many drops wait now. */
static unsigned int count_drop(struct droppers *by, int more)
{
	unsigned int waiting;

	pthread_mutex_lock(&by->lock);
	waiting = by->waiting += (unsigned int)more;
	if (!waiting)
		pthread_cond_broadcast(&by->done);
	pthread_mutex_unlock(&by->lock);
	return waiting;
}

/* The tree may be gone when this ends. */
static void run_drop(void *ctx)
{
	struct drop *d = ctx;

	for (size_t i = 0; i < d->notes.n; i++)
		if (d->notes.v[i].what == FORGET_ENTRY)
			drop_entry(d->by->fuse_fd, &d->notes.v[i]);
	count_drop(d->by, -1);
	free(d->notes.v);
	free(d);
}

/* Takes over the notes. Returns false if other drops wait already: this one will, too. */
static bool drop_by_name(struct droppers *by, struct forgets *notes)
{
	struct drop *d = malloc(sizeof(*d));
	unsigned int waiting = count_drop(by, 1);

	if (d)
		*d = (struct drop){ by, *notes };
	if (d && waiting <= DROPS_MAX && !pool_submit(by->pool, run_drop, d)) {
		*notes = (struct forgets){ 0 };
		return waiting == 1;
	}
	count_drop(by, -1);
	free(d);
	return false;
}

static void end_epoch(void *ctx)
{
	struct droppers *by = ctx;
	struct timespec pause = { .tv_nsec = EPOCH_MS * 1000000 };

	nanosleep(&pause, NULL);
	atomic_store(&by->epoch_due, false); /* a later caller may need another epoch */
	atomic_store(&by->epoch_at, now_ms());
	next_epoch(by->fuse_fd);
}

void forget_path(struct tree *t, uint64_t dir, const char *name)
{
	struct droppers *by = t->se ? t->droppers : NULL;
	struct forgets notes = { 0 };
	uint64_t now = now_ms();

	if (!by)
		return;
	if (now - atomic_load(&by->epoch_at) <= EPOCH_MS) {
		if (atomic_exchange(&by->epoch_due, true) || !pool_submit(by->pool, end_epoch, by))
			return;
		atomic_store(&by->epoch_due, false);
	}
	if (forget_entries(t)) {
		atomic_store(&by->epoch_at, now);
		return;
	}
	atomic_store(&by->lags, true);
	forget_note(&notes, dir, FORGET_ENTRY, name);
	drop_by_name(by, &notes);
	free(notes.v);
}

bool forget_lags(struct tree *t)
{
	return t->droppers && atomic_load(&t->droppers->lags);
}

void forget_await(struct tree *t)
{
	struct timespec until = in_ms(DROP_MS);
	struct droppers *by = t->droppers;

	pthread_mutex_lock(&by->lock);
	while (by->waiting && !pthread_cond_timedwait(&by->done, &by->lock, &until))
		;
	pthread_mutex_unlock(&by->lock);
}

void forget_all(struct tree *t, struct forgets *notes)
{
	bool entries = false;

	for (size_t i = 0; i < notes->n && t->se; i++) {
		const struct forget *f = &notes->v[i];

		entries |= f->what == FORGET_ENTRY;
		if (f->what != FORGET_ENTRY)
			inval(t, f->ino, f->what == FORGET_PAGES ? 0 : -1);
	}
	if (entries && !forget_entries(t) && drop_by_name(t->droppers, notes))
		forget_await(t);
	free(notes->v);
	*notes = (struct forgets){ 0 };
}

/* A thread that waits for a reader keeps its data, and ends with the process. */
void forget_stop(struct tree *t)
{
	struct droppers *by = t->droppers;

	t->droppers = NULL;
	if (!by || count_drop(by, 0))
		return;
	pool_end(by->pool);
	pool_free(by->pool);
	pthread_cond_destroy(&by->done);
	pthread_mutex_destroy(&by->lock);
	free(by);
}
