// SPDX-License-Identifier: GPL-2.0-or-later
#include "files.h"

#include <errno.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "journal.h"
#include "pcidevfs/err.h"
#include "pcidevfs/quota.h"
#include "pcidevfs/region.h"
#include "pcidevfs/util.h"
#include "fs/cache/texts.h"

/* fh: a number unique to each open << 24 | place in the table. */
#define PLACE_BITS 24
#define NOWHERE UINT32_MAX
#define CHAINS 1024
#define FILES_ABI 5
#define NOBODY 65534 /* opened a file of which a former process left nonsense */
#define TOLD_TWICE 2 /* epoll asks when it starts to wait, and again before it reports */

struct files_region {
	union {
		struct {
			struct region_head region;
			uint32_t used; /* places that are or were in use */
			uint64_t opens;
		};
		char page[4096];
	};
	struct open_file files[];
};

/* Data about a file that this process alone has. */
struct side {
	uint32_t next, prev; /* in the chain of its node, or in the free list */
	struct text *text;
};

struct files {
	pthread_mutex_t lock; /* guards all below */
	struct files_region *r;
	uint32_t max;
	int fuse_fd;
	struct side *side;
	size_t n_side;
	uint32_t free;
	uint32_t heads[CHAINS];
	struct quota opened, texts;
	uint64_t *due; /* the kh of pollers that files_tell() must wake */
	size_t n_due, due_cap;
};

const struct region_head files_layout = { "files", FILES_ABI, sizeof(struct open_file) };

static uint32_t *chain(struct files *f, uint64_t node)
{
	return &f->heads[(node * 0x9e3779b97f4a7c15ull >> 40) % CHAINS];
}

static void link_file(struct files *f, uint32_t i)
{
	uint32_t *head = chain(f, f->r->files[i].node);

	f->side[i].prev = NOWHERE;
	f->side[i].next = *head;
	if (*head != NOWHERE)
		f->side[*head].prev = i;
	*head = i;
}

static void unlink_file(struct files *f, uint32_t i)
{
	struct side *s = &f->side[i];

	if (s->prev != NOWHERE)
		f->side[s->prev].next = s->next;
	else
		*chain(f, f->r->files[i].node) = s->next;
	if (s->next != NOWHERE)
		f->side[s->next].prev = s->prev;
}

static void set_free(struct files *f, uint32_t i)
{
	f->side[i].next = f->free;
	f->free = i;
}

/* For a file at this place. */
static int grow(struct files *f, uint32_t at)
{
	struct side *side = rows_upto(f->side, at, &f->n_side, sizeof(*side));

	f->side = side ? side : f->side;
	return side ? 0 : -ENOMEM;
}

/* Files of a former process are linked again. They count as changed: nobody noticed changes
 * then. */
static int take_over(struct files *f)
{
	if (f->r->used > f->max)
		f->r->used = f->max;
	if (grow(f, f->r->used))
		return -ENOMEM;
	for (uint32_t i = 0; i < f->r->used; i++) {
		struct open_file *file = &f->r->files[i];

		if ((file->fh & ((1u << PLACE_BITS) - 1)) != i || !file->fh) {
			file->fh = 0;
			set_free(f, i);
			continue;
		}
		file->changed = true;
		if (!creds_valid(&file->creds))
			file->creds = (struct creds){ .uid = NOBODY, .gid = NOBODY };
		link_file(f, i);
		if (quota_count(&f->opened, &file->creds, 1))
			return -ENOMEM;
	}
	return 0;
}

int files_new(void *region, size_t size, int first, struct files **ret, struct err *err)
{
	struct files *f = calloc(1, sizeof(*f));
	struct files_region *r = region;

	if (!f || size < sizeof(*r) + sizeof(struct open_file)) {
		free(f);
		return fail_nomem(err);
	}
	if (first || !region_is(&r->region, &files_layout)) {
		memset(r, 0, sizeof(*r));
		region_begin(&r->region, &files_layout);
	}
	f->r = r;
	f->max = (uint32_t)((size - sizeof(*r)) / sizeof(struct open_file));
	if (f->max >= 1u << PLACE_BITS)
		f->max = (1u << PLACE_BITS) - 1;
	f->opened = (struct quota){ .what = "files open here",
				    .of_user = FILES_OF_USER,
				    .of_all = FILES_OF_ALL };
	f->texts = (struct quota){ .what = "MiB of long texts open",
				   .unit = 1 << 20,
				   .of_user = TEXT_OF_USER,
				   .of_all = TEXT_OF_ALL,
				   .code = ENOMEM };
	f->fuse_fd = -1;
	f->free = NOWHERE;
	memset(f->heads, 0xff, sizeof(f->heads));
	pthread_mutex_init(&f->lock, NULL);
	if (take_over(f)) {
		files_free(f);
		return fail_nomem(err);
	}
	*ret = f;
	return 0;
}

void files_free(struct files *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->n_side; i++)
		text_unref(f->side[i].text);
	free(f->side);
	quota_free(&f->opened);
	quota_free(&f->texts);
	free(f->due);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

void files_use(struct files *f, int fuse_fd)
{
	f->fuse_fd = fuse_fd;
}

/* An OPEN that is sent again was not answered, but may have got its file. */
static uint64_t find_opened(struct files *f, uint64_t unique)
{
	for (uint32_t i = 0; i < f->r->used; i++)
		if (f->r->files[i].fh && f->r->files[i].opened_by == unique)
			return f->r->files[i].fh;
	return 0;
}

static uint32_t take_place(struct files *f)
{
	uint32_t i = f->free;

	if (i != NOWHERE) {
		f->free = f->side[i].next;
		return i;
	}
	if (f->r->used == f->max || grow(f, f->r->used))
		return NOWHERE;
	f->r->files[f->r->used].fh = 0;
	return f->r->used++;
}

/* Returns the place, or -errno. Call it with the lock held. */
static int64_t new_file(struct files *f, const struct open_file *like, struct err *err)
{
	int r = quota_take(&f->opened, &like->creds, 1, err);
	uint32_t i = r ? NOWHERE : take_place(f);
	struct open_file *file;

	if (i == NOWHERE) {
		if (!r)
			quota_give(&f->opened, &like->creds, 1);
		return r ? r : -ENFILE;
	}
	file = &f->r->files[i];
	*file = *like;
	atomic_signal_fence(memory_order_seq_cst);
	file->fh = ++f->r->opens << PLACE_BITS | i;
	link_file(f, i);
	return i;
}

int files_open(struct files *f, uint64_t node, uint64_t unique, const struct creds *creds,
	       const struct cursor *at, bool writes, uint64_t *ret_fh, struct err *err)
{
	struct open_file like = {
		.node = node,
		.opened_by = unique & ~UNIQUE_RESENT,
		.changed = true,
		.writes = writes,
		.creds = *creds,
	};
	uint64_t fh = 0;
	int64_t i = 0;

	if (at)
		like.at = like.before = *at;
	pthread_mutex_lock(&f->lock);
	if (unique & UNIQUE_RESENT)
		fh = find_opened(f, like.opened_by);
	if (!fh) {
		i = new_file(f, &like, err);
		fh = i < 0 ? 0 : f->r->files[i].fh;
	}
	pthread_mutex_unlock(&f->lock);
	if (i < 0)
		return (int)i;
	*ret_fh = fh;
	return 0;
}

bool files_in_use(struct files *f, uint64_t node, bool for_writing)
{
	bool is = false;

	pthread_mutex_lock(&f->lock);
	for (uint32_t i = *chain(f, node); i != NOWHERE && !is; i = f->side[i].next)
		is = f->r->files[i].node == node && (f->r->files[i].writes || !for_writing);
	pthread_mutex_unlock(&f->lock);
	return is;
}

bool files_told(struct files *f, uid_t uid)
{
	bool told;

	pthread_mutex_lock(&f->lock);
	told = quota_told(&f->opened, uid);
	pthread_mutex_unlock(&f->lock);
	return told;
}

/* Call it with the lock held. */
static struct open_file *get(struct files *f, uint64_t fh)
{
	uint32_t i = fh & ((1u << PLACE_BITS) - 1);

	return fh && i < f->r->used && f->r->files[i].fh == fh ? &f->r->files[i] : NULL;
}

static uint32_t place_of(struct files *f, const struct open_file *file)
{
	return (uint32_t)(file - f->r->files);
}

/* Call it with the lock held. */
static void drop_text(struct files *f, const struct open_file *file)
{
	struct side *side = &f->side[place_of(f, file)];
	struct text *text = side->text;

	if (text && quota_of(&text->keepers, &file->creds)) {
		quota_give(&text->keepers, &file->creds, 1);
		if (!quota_of(&text->keepers, &file->creds))
			quota_give(&f->texts, &file->creds, text->len);
	}
	text_unref(text);
	side->text = NULL;
}

/* Charges a user only for the first file that keeps a text. Call it with the lock held. */
static int take_text(struct files *f, struct open_file *file, struct text *text, struct err *err)
{
	const struct creds *who = &file->creds;
	size_t new = quota_of(&text->keepers, who) ? 0 : text->len;
	int r = new ? quota_take(&f->texts, who, new, err) : 0;

	if (!r && quota_count(&text->keepers, who, 1)) {
		quota_give(&f->texts, who, new);
		r = -ENOMEM;
	}
	if (!r)
		f->side[place_of(f, file)].text = text_ref(text);
	return r;
}

void files_release(struct files *f, uint64_t fh)
{
	struct open_file *file;

	pthread_mutex_lock(&f->lock);
	file = get(f, fh);
	if (file) {
		uint32_t i = place_of(f, file);

		drop_text(f, file);
		file->fh = 0;
		unlink_file(f, i);
		set_free(f, i);
		quota_give(&f->opened, &file->creds, 1);
	}
	pthread_mutex_unlock(&f->lock);
}

struct open_file *files_get(struct files *f, uint64_t fh)
{
	struct open_file *file;

	pthread_mutex_lock(&f->lock);
	file = get(f, fh);
	pthread_mutex_unlock(&f->lock);
	return file;
}

int files_keep(struct files *f, struct open_file *file, struct text *text, size_t len,
	       struct err *err)
{
	int r;

	pthread_mutex_lock(&f->lock);
	drop_text(f, file);
	r = text ? take_text(f, file, text, err) : 0;
	file->len = r ? 0 : len;
	pthread_mutex_unlock(&f->lock);
	return r;
}

struct text *files_kept(struct files *f, const struct open_file *file, uint64_t *ret_len)
{
	struct text *text;

	pthread_mutex_lock(&f->lock);
	*ret_len = file->len;
	text = text_ref(f->side[place_of(f, file)].text);
	pthread_mutex_unlock(&f->lock);
	return text;
}

void files_seen(struct files *f, struct open_file *file)
{
	pthread_mutex_lock(&f->lock);
	file->changed = false;
	pthread_mutex_unlock(&f->lock);
}

bool files_poll(struct files *f, struct open_file *file, uint64_t kh, bool cached)
{
	bool changed;

	pthread_mutex_lock(&f->lock);
	if (kh) {
		file->kh = kh;
		file->armed = true;
	}
	changed = file->changed;
	if (changed && cached)
		file->changed--;
	pthread_mutex_unlock(&f->lock);
	return changed;
}

/* Written by hand: libfuse needs its own handle, which died with the former process. */
static void notify(struct files *f, uint64_t kh)
{
	struct {
		struct fuse_out_header head;
		struct fuse_notify_poll_wakeup_out wakeup;
	} msg = { { .len = sizeof(msg), .error = FUSE_NOTIFY_POLL }, { .kh = kh } };

	if (write(f->fuse_fd, &msg, sizeof(msg)) != (ssize_t)sizeof(msg))
		return; /* the mount is gone, and the poller with it */
}

/* Call it with the lock held. */
static void touch(struct files *f, struct open_file *file)
{
	uint64_t *due;

	file->changed = TOLD_TWICE;
	if (!file->armed || f->fuse_fd < 0)
		return;
	file->armed = false;
	due = more_rows(f->due, f->n_due, &f->due_cap, sizeof(*due));
	f->due = due ? due : f->due;
	if (due)
		due[f->n_due++] = file->kh;
	else
		notify(f, file->kh);
}

void files_touch(struct files *f, uint64_t node)
{
	pthread_mutex_lock(&f->lock);
	for (uint32_t i = *chain(f, node); i != NOWHERE; i = f->side[i].next)
		if (f->r->files[i].node == node)
			touch(f, &f->r->files[i]);
	pthread_mutex_unlock(&f->lock);
}

void files_tell(struct files *f)
{
	uint64_t *due;
	size_t n;

	pthread_mutex_lock(&f->lock);
	due = f->due;
	n = f->n_due;
	f->due = NULL;
	f->n_due = f->due_cap = 0;
	pthread_mutex_unlock(&f->lock);
	/* Without the lock, because woken pollers ask at once. */
	for (size_t i = 0; i < n; i++)
		notify(f, due[i]);
	free(due);
}

void files_wake_all(struct files *f)
{
	pthread_mutex_lock(&f->lock);
	for (uint32_t i = 0; i < f->r->used; i++)
		if (f->r->files[i].fh) {
			f->r->files[i].armed = f->r->files[i].kh != 0;
			touch(f, &f->r->files[i]);
		}
	pthread_mutex_unlock(&f->lock);
	files_tell(f);
}
