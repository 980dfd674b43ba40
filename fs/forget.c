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

#include "internal.h"
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

void forget_new(struct forgets *notes, uint64_t ino, enum forget_what what, const char *name)
{
	if (notes->n == notes->cap) {
		size_t cap = notes->cap ? notes->cap * 2 : 16;
		struct forget *v = reallocarray(notes->v, cap, sizeof(*v));

		if (!v)
			return; /* the kernel shows the old entry until it asks again */
		notes->v = v;
		notes->cap = cap;
	}
	notes->v[notes->n].ino = ino;
	notes->v[notes->n].what = what;
	STR_COPY(notes->v[notes->n++].name, name);
}

void forget_note(struct forgets *notes, uint64_t ino, enum forget_what what)
{
	if (!notes)
		return;
	for (size_t i = notes->n; i-- > 0;)
		if (notes->v[i].ino == ino && notes->v[i].what == what)
			return;
	forget_new(notes, ino, what, "");
}

void forget_entry(struct forgets *notes, uint64_t ino, const char *name)
{
	if (notes)
		forget_new(notes, ino, FORGET_ENTRY, name);
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

void forget_attr(struct tree *t, uint64_t ino)
{
	for (unsigned int i = 0, n = objects_known(t->objects, ino); t->se && i < n; i++)
		fuse_lowlevel_notify_inval_inode(t->se, objects_twin(ino, i), -1, 0);
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

static void forget_pages(struct tree *t, uint64_t ino)
{
	for (unsigned int i = 0, n = objects_known(t->objects, ino); i < n; i++)
		fuse_lowlevel_notify_inval_inode(t->se, objects_twin(ino, i), 0, 0);
}

/* ---- threads that may have to wait: on a kernel without epochs, or if epochs came too often */

struct droppers {
	struct pool *pool;
	atomic_uint waiting;
	int fuse_fd;
	_Atomic uint64_t epoch_at; /* ms: the last epoch for a path */
	atomic_bool epoch_due;	   /* another one is scheduled */
	atomic_bool lags;	   /* a path was dropped by name */
};

struct drop {
	struct droppers *by;
	struct forgets notes;
	pthread_mutex_t lock;
	pthread_cond_t done;
	bool ended, left; /* left: nobody waits for it any more */
};

static void free_drop(struct drop *d)
{
	pthread_cond_destroy(&d->done);
	pthread_mutex_destroy(&d->lock);
	free(d->notes.v);
	free(d);
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

/* If nobody waits for the drop the tree may be gone. */
static void run_drop(void *ctx)
{
	struct drop *d = ctx;
	bool left;

	for (size_t i = 0; i < d->notes.n; i++)
		if (d->notes.v[i].what == FORGET_ENTRY)
			drop_entry(d->by->fuse_fd, &d->notes.v[i]);
	atomic_fetch_sub(&d->by->waiting, 1);
	pthread_mutex_lock(&d->lock);
	d->ended = true;
	left = d->left;
	pthread_cond_signal(&d->done);
	pthread_mutex_unlock(&d->lock);
	if (left)
		free_drop(d);
}

/* If others wait already, this one would too. */
static void await_drop(struct drop *d, unsigned int ms)
{
	struct timespec until = in_ms(ms);
	bool ended;
	int r = 0;

	pthread_mutex_lock(&d->lock);
	while (!d->ended && !r)
		r = pthread_cond_timedwait(&d->done, &d->lock, &until);
	ended = d->ended;
	d->left = true;
	pthread_mutex_unlock(&d->lock);
	if (ended)
		free_drop(d);
}

static struct droppers *new_droppers(int fuse_fd)
{
	struct droppers *by = calloc(1, sizeof(*by));
	struct err err = { 0 };

	if (by && !pool_new(DROPPERS, &by->pool, &err)) {
		by->fuse_fd = fuse_fd;
		return by;
	}
	free(by);
	return NULL;
}

static struct droppers *droppers_of(struct tree *t)
{
	struct droppers *by;

	pthread_mutex_lock(&t->dropping);
	if (!t->droppers)
		t->droppers = new_droppers(t->fuse_fd);
	by = t->droppers;
	pthread_mutex_unlock(&t->dropping);
	return by;
}

/* Takes over the notes and waits for at most ms until they are done. */
static void drop_by_name(struct tree *t, struct forgets *notes, unsigned int ms)
{
	struct droppers *by = droppers_of(t);
	unsigned int before = by ? atomic_load(&by->waiting) : 0;
	struct drop *d = by && before < DROPS_MAX ? calloc(1, sizeof(*d)) : NULL;

	if (!d)
		return;
	d->by = by;
	d->notes = *notes;
	*notes = (struct forgets){ 0 };
	pthread_mutex_init(&d->lock, NULL);
	cond_init(&d->done);
	atomic_fetch_add(&by->waiting, 1);
	if (!pool_submit(by->pool, run_drop, d)) {
		await_drop(d, before ? 0 : ms);
		return;
	}
	atomic_fetch_sub(&by->waiting, 1);
	free_drop(d);
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
	struct droppers *by = t->se ? droppers_of(t) : NULL;
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
	forget_entry(&notes, dir, name);
	drop_by_name(t, &notes, 0);
	free(notes.v);
}

bool forget_lags(struct tree *t)
{
	struct droppers *by = droppers_of(t);

	return by && atomic_load(&by->lags);
}

void forget_await(struct tree *t)
{
	struct timespec pause = { .tv_nsec = 1000000 };
	struct droppers *by = droppers_of(t);

	for (int ms = 0; by && by->waiting && ms < DROP_MS; ms++)
		nanosleep(&pause, NULL);
}

void forget_all(struct tree *t, struct forgets *notes)
{
	bool entries = false;

	for (size_t i = 0; i < notes->n && t->se; i++) {
		const struct forget *f = &notes->v[i];

		entries |= f->what == FORGET_ENTRY;
		if (f->what == FORGET_ATTR)
			forget_attr(t, f->ino);
		else if (f->what == FORGET_PAGES)
			forget_pages(t, f->ino);
	}
	if (entries && !forget_entries(t))
		drop_by_name(t, notes, DROP_MS);
	free(notes->v);
	*notes = (struct forgets){ 0 };
}

/* A thread that waits for a reader keeps its data, and ends with the process. */
void forget_stop(struct tree *t)
{
	struct droppers *by = t->droppers;

	t->droppers = NULL;
	if (!by || by->waiting)
		return;
	pool_end(by->pool);
	pool_free(by->pool);
	free(by);
}
