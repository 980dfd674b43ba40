// SPDX-License-Identifier: GPL-2.0-or-later
/* Directories: lookup and listing. Entries are the rows in a directory, then those of the views. */
#define FUSE_USE_VERSION 312
#include <errno.h>
#include <fuse_lowlevel.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "internal.h"
#include "pcidevfs/util.h"
#include "writers.h"

/* telldir cookies, each the place behind its entry: ".", "..", rows by their number in the table,
 * then other entries by key. They stay valid while entries come and go. */
enum { AT_DOT = 0, AT_DOTDOT = 1, AT_ROWS = 2, AT_ENTRIES = 1 << 16 };

static uint64_t dir_set(const struct node *n)
{
	return set_id(n->slot, n->row ? n->row->id : ROW_SELF);
}

/* How long the kernel may cache an entry: until we invalidate it, or not at all. */
static double entry_seconds(const struct entries *e)
{
	return e && e->brief ? 0 : CACHE_SECONDS;
}

/* The kernel makes an entry's node after our answer, so an invalidation in between is lost. GETATTR
 * has no such gap, so the attributes must soon be asked for again. */
#define FOUND_SECONDS 0.1

/* The node that a path to this file leads to now: that of its inode number, or a twin. A list does
 * not know the sizes of long texts; those of rings change with every line. */
static struct fuse_entry_param found(struct tree *t, const struct attr *row, const struct stat *st,
				     double seconds)
{
	unsigned int twin = S_ISREG(st->st_mode) ? writers_free_twin(t->writers, st->st_ino) : 0;
	struct fuse_entry_param e = {
		.ino = objects_twin(st->st_ino, twin),
		.attr = *st,
		.attr_timeout = row && row->ring ? 0 : FOUND_SECONDS,
		.entry_timeout = seconds,
	};

	objects_note_known(t->objects, e.ino);
	return e;
}

static bool find_entry(struct tree *t, const struct node *dir, const char *name, struct stat *st)
{
	const struct entries *e = node_entries(dir);
	uint32_t slot;

	if (!e)
		return false;
	pthread_mutex_lock(&t->lock);
	slot = entry_find(t, e, dir->slot, dir_set(dir), name);
	if (slot != NO_SLOT)
		entry_stat(t, e, slot, st);
	pthread_mutex_unlock(&t->lock);
	return slot != NO_SLOT;
}

/* A device gets and loses rows in the model, before the notifier has come to it. Whoever finds or
 * misses one by its path lists what is there. */
static void rows_are_seen(struct tree *t, const struct node *dir)
{
	if (!dir->subject.dev)
		return;
	pthread_mutex_lock(&t->lock);
	if (dir->slot < t->n_members)
		forget_rows_list(t, dir->slot, dir->dev.caps);
	pthread_mutex_unlock(&t->lock);
}

void dir_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct tree *t = fuse_req_userdata(req);
	struct fuse_entry_param e;
	const struct attr *row;
	char path[NODE_PATH];
	struct node dir;
	struct stat st;

	if (node_get(t, parent, &dir)) {
		fuse_reply_err(req, ESTALE);
		return;
	}
	rows_are_seen(t, &dir);
	row = attr_by_name(dir.kind, node_path(&dir, name, path));
	if (row && !node_has(&dir, row))
		row = NULL;
	if (row) {
		node_stat(t, &dir, row, &st);
	} else if (!find_entry(t, &dir, name, &st)) {
		fuse_reply_err(req, ENOENT);
		return;
	}
	e = found(t, row, &st, row ? CACHE_SECONDS : entry_seconds(node_entries(&dir)));
	fuse_reply_entry(req, &e);
}

/* Answers ENOSYS: the kernel stops asking and caches lists until we invalidate them. That saves two
 * requests for each directory. */
void dir_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	fuse_reply_err(req, ENOSYS);
}

struct dir_listing {
	fuse_req_t req;
	struct tree *tree;
	struct node dir;
	bool plus, full;
	char *buf;
	size_t size, len;
};

/* The kernel ignores "." and ".." (seconds < 0). */
static void add(struct dir_listing *l, const char *name, const struct attr *row,
		const struct stat *st, double seconds, off_t next)
{
	size_t left = l->size - l->len, need;

	if (l->plus) {
		struct fuse_entry_param e = { .attr = *st };

		if (seconds >= 0)
			e = found(l->tree, row, st, seconds);
		need = fuse_add_direntry_plus(l->req, l->buf + l->len, left, name, &e, next);
	} else {
		need = fuse_add_direntry(l->req, l->buf + l->len, left, name, st, next);
	}
	l->full = need > left;
	if (!l->full)
		l->len += need;
}

static uint64_t parent_ino(struct dir_listing *l)
{
	const struct node *n = &l->dir;
	uint16_t row = obj_type(n->kind)->home;
	uint64_t ino;

	if (n->row)
		return node_dir(n, n->row);
	if (!row)
		return n->ino;
	pthread_mutex_lock(&l->tree->lock);
	ino = objects_ino(l->tree->objects, n->parent, row);
	pthread_mutex_unlock(&l->tree->lock);
	return ino;
}

static void list_dots(struct dir_listing *l, off_t off)
{
	struct stat st = { .st_mode = S_IFDIR, .st_ino = l->dir.ino };

	if (off <= AT_DOT)
		add(l, ".", NULL, &st, -1, AT_DOTDOT);
	st.st_ino = parent_ino(l);
	if (off <= AT_DOTDOT && !l->full)
		add(l, "..", NULL, &st, -1, AT_ROWS);
}

static void list_rows(struct dir_listing *l, off_t off)
{
	const struct attr *row;
	struct stat st;

	for (size_t i = off > AT_ROWS ? (size_t)off - AT_ROWS : 0;
	     !l->full && (row = row_at(l->dir.kind, i)); i++) {
		/* A program that reads all listed files would block in the stream for ever. */
		if (!row_is_in(row, l->dir.row) || !node_has(&l->dir, row) ||
		    row->flags & ATTR_STREAM)
			continue;
		node_stat(l->tree, &l->dir, row, &st);
		add(l, row_leaf(row), row, &st, CACHE_SECONDS, (off_t)(AT_ROWS + i + 1));
	}
}

static void list_entries(struct dir_listing *l, off_t off)
{
	const struct entries *e = node_entries(&l->dir);
	struct tree *t = l->tree;
	off_t key = off > AT_ENTRIES ? off - AT_ENTRIES : 0;
	const struct elem *elem;
	char name[OBJECT_NAME];
	struct stat st;
	size_t n;

	if (!e || key > UINT32_MAX)
		return;
	pthread_mutex_lock(&t->lock);
	elem = set_from(t->sets, dir_set(&l->dir), (uint32_t)key, &n);
	for (; n && !l->full; n--, elem++) {
		entry_name(t, e, elem, name);
		entry_stat(t, e, elem->slot, &st);
		add(l, name, NULL, &st, entry_seconds(e), (off_t)AT_ENTRIES + elem->key + 1);
	}
	pthread_mutex_unlock(&t->lock);
}

static void list(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, bool plus)
{
	struct tree *t = fuse_req_userdata(req);
	struct dir_listing l = { .req = req, .tree = t, .plus = plus, .size = size };

	if (node_get(t, ino, &l.dir)) {
		/* as for a directory that is removed while it is open */
		fuse_reply_buf(req, NULL, 0);
		return;
	}
	l.buf = malloc(size);
	if (!l.buf) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	rows_are_seen(t, &l.dir);
	list_dots(&l, off);
	if (off < AT_ENTRIES && !l.full)
		list_rows(&l, off);
	if (!l.full)
		list_entries(&l, off);
	fuse_reply_buf(req, l.buf, l.len);
	free(l.buf);
}

void dir_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	list(req, ino, size, off, false);
}

void dir_readplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	list(req, ino, size, off, true);
}
