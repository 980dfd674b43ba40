// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What stat says. Sizes are exact, because readers rely on them: grep looks for holes up to the
 * size, tail starts at the end, rsync and tar stop there. As in sysfs it is 4096 bytes for a file
 * that is open for writing. The size of a text that is long, or made by asking the kernel, which
 * may take seconds, is found only for those who have opened it; a list says 4096.
 */
#include <string.h>
#include <sys/stat.h>

#include "fs/log/grown.h"
#include "internal.h"
#include "pcidevfs/intent.h"
#include "pcidevfs/util.h"

bool owner_is_kept(const struct tree *t, enum obj_kind kind, const struct attr *row)
{
	int bus = obj_type(kind)->bus;

	return t->conf.intents && (bus || kind == OBJ_ROOT) &&
	       (!row || !(row->mode & S_IFMT) || (bus && S_ISDIR(row->mode)));
}

/* The mode, uid and gid stored with a device's intents. False: none. */
static bool owner_kept(struct tree *t, enum obj_kind kind, const char *name, const struct attr *row,
		       struct owner *own)
{
	struct key key = { .bus = obj_type(kind)->bus };
	struct ownership is;

	if (!owner_is_kept(t, kind, row) || !STR_COPY(key.name, name) ||
	    !intents_owner(t->conf.intents, key.bus ? &key : NULL, row ? row->name : "", &is))
		return false;
	own->mode = is.mode & 07777;
	own->uid = is.uid;
	own->gid = is.gid;
	return true;
}

#define SYSFS_SIZE 4096

/* Identifies a file: a row of an object, or (row NULL) its directory. */
struct stat_of {
	enum obj_kind kind;
	const char *name;
	const struct attr *row;
	uint32_t slot, caps; /* of the object; not needed for rights */
};

/* Gets what chown and chmod have set; false: nothing. The times are set in any case. */
static bool find_owner(struct tree *t, const struct stat_of *w, uint64_t ino, struct owner *own)
{
	bool touched = objects_owner(t->objects, ino, own);

	if (!touched)
		own->atime = own->mtime = objects_since(t->objects);
	return owner_kept(t, w->kind, w->name, w->row, own) || (touched && !own->only_times);
}

static void apply_owner(struct tree *t, const struct stat_of *w, struct stat *st)
{
	struct owner own;
	bool rights = find_owner(t, w, st->st_ino, &own);

	st->st_blksize = SYSFS_SIZE;
	st->st_atim = own.atime;
	st->st_mtim = st->st_ctim = own.mtime;
	if (S_ISDIR(st->st_mode)) /* so the kernel knows whether its cached list is still valid */
		st->st_mtim = st->st_ctim = time_of_ns(atomic_load(&t->listed_at));
	if (!rights)
		return;
	st->st_mode = (st->st_mode & S_IFMT) | own.mode;
	st->st_uid = own.uid;
	st->st_gid = own.gid;
}

/* The owner of a device's directory applies to those of its files that have none of their own, and
 * that not everybody may read and nobody write. What not everybody may read stays the group's. */
static void apply_rights(struct tree *t, const struct stat_of *w, uint64_t dir_ino, struct stat *st)
{
	const struct stat_of dir = { w->kind, w->name, NULL };
	struct owner own;

	apply_owner(t, w, st);
	if ((!(w->row->mode & 0222) && w->row->mode & 0004) || find_owner(t, w, st->st_ino, &own) ||
	    !find_owner(t, &dir, dir_ino, &own))
		return;
	st->st_uid = own.uid;
	if (own.gid && w->row->mode & 0222)
		st->st_gid = own.gid;
}

bool row_is_groups(const struct attr *row)
{
	return row->mode & 0020 || !(row->mode & 0004);
}

void rights_at_birth(const struct tree *t, const struct attr *row, struct stat *st)
{
	gid_t group = atomic_load(&t->group);

	memset(st, 0, sizeof(*st));
	st->st_mode = S_IFREG | row->mode;
	st->st_nlink = 1;
	if (row_is_groups(row)) {
		st->st_gid = group;
		st->st_mode &= group ? ~(mode_t)0 : ~(mode_t)0020;
	}
}

void file_rights(struct tree *t, enum obj_kind kind, uint64_t dir_ino, const char *name,
		 const struct attr *row, struct stat *st)
{
	const struct stat_of w = { kind, name, row };

	rights_at_birth(t, row, st);
	st->st_ino = objects_sibling(dir_ino, row->id);
	apply_rights(t, &w, dir_ino, st);
}

bool row_is_sized(const struct attr *row)
{
	const uint32_t others = ATTR_SLOW | ATTR_WORK | ATTR_SNAPSHOT | ATTR_STREAM;

	return !(row->mode & S_IFMT) && row->show && (row->bits || row->flags & ATTR_CTL) &&
	       !(row->flags & others);
}

/* A write beyond the size locks the inode exclusively: open for writing, a file has the maximum. */
static off_t file_size(struct tree *t, const struct node *n, const struct attr *row, uint64_t ino)
{
	struct out o = { 0 };
	off_t size;

	if (!(row->flags & ATTR_CONST) &&
	    (!row_is_sized(row) || (row_writable(row) && files_in_use(t->files, ino, true))))
		return SYSFS_SIZE;
	row_show(row, &n->subject, &o);
	size = o.failed ? SYSFS_SIZE : (off_t)o.len;
	out_free(&o);
	return size;
}

/* Counts the directories right below: those of rows, and children that are not links. */
static nlink_t count_dirs(struct tree *t, const struct stat_of *w)
{
	const struct entries *entries = w->row ? w->row->entries : obj_type(w->kind)->entries;
	const struct attr *row;
	nlink_t n = 0;

	for (size_t i = 0; (row = row_at(w->kind, i)); i++)
		n += S_ISDIR(row->mode) && row_is_in(row, w->row) && row_fits(row, w->caps);
	if (entries && !entries->link)
		n += set_count(t->sets, set_id(w->slot, w->row ? w->row->id : ROW_SELF));
	return n;
}

/* Of a directory or a link. Call it with the tree's lock held. */
static void stat_entry(struct tree *t, const struct stat_of *w, uint64_t ino, struct stat *st)
{
	memset(st, 0, sizeof(*st));
	st->st_ino = ino;
	st->st_mode = w->row ? w->row->mode : S_IFDIR | DIR_MODE;
	st->st_nlink = S_ISDIR(st->st_mode) ? 2 + count_dirs(t, w) : 1;
	apply_owner(t, w, st);
}

static void take_writers(const struct node *n, const struct attr *row, struct stat *st)
{
	if (n->subject.dev && !row_takes(row, n->dev.caps))
		st->st_mode &= ~(mode_t)0222;
}

void node_rights(struct tree *t, const struct node *n, const struct attr *row, struct stat *st)
{
	file_rights(t, n->kind, objects_sibling(n->ino, ROW_SELF), n->name, row, st);
	take_writers(n, row, st);
}

void node_rights_at_birth(const struct tree *t, const struct node *n, const struct attr *row,
			  struct stat *st)
{
	rights_at_birth(t, row, st);
	take_writers(n, row, st);
}

void node_stat(struct tree *t, const struct node *n, const struct attr *row, struct stat *st)
{
	const struct stat_of w = { n->kind, n->name, row, n->slot,
				   n->subject.dev ? n->dev.caps : 0 };

	if (row && !(row->mode & S_IFMT)) {
		node_rights(t, n, row, st);
		st->st_size = file_size(t, n, row, st->st_ino);
		if (row->ring)
			grown_stat(row->ring(t), st);
		return;
	}
	pthread_mutex_lock(&t->lock);
	stat_entry(t, &w, objects_sibling(n->ino, row ? row->id : ROW_SELF), st);
	pthread_mutex_unlock(&t->lock);
}

void entry_stat(struct tree *t, const struct entries *e, uint32_t slot, struct stat *st)
{
	const struct object *obj = objects_at(t->objects, slot);
	const struct stat_of w = { obj->kind, obj->name,
				   e->link ? attr_by_id(obj->kind, e->link) : NULL, slot,
				   slot < t->n_members ? t->members[slot].caps : 0 };

	stat_entry(t, &w, objects_ino(t->objects, slot, e->link ? e->link : ROW_SELF), st);
}

/* An opened long text is asked about each time, so that no line needs an invalidation. */
double attr_seconds(const struct attr *row)
{
	return row && (row->ring || row->flags & ATTR_SNAPSHOT) ? 0 : CACHE_SECONDS;
}
