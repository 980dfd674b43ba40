// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tree for FUSE: names, directories, attributes of files. Contents are in attr.c.
 *
 * The kernel caches names and attributes for ever: a change of the tree must make it forget them
 * (effects.c). Contents are never cached.
 */
#include "ops.h"
#include "sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#define FOREVER 1e9

struct listing {
	size_t n;
	struct node *nodes[];
};

/* An open directory: its children at the first read, so that offsets stay valid. */
struct reader {
	struct listing *list;
};

struct sim *ops_sim(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

struct node *ops_node(const struct sim *s, fuse_ino_t ino)
{
	return ino == FUSE_ROOT_ID ? s->tree->root : (struct node *)(uintptr_t)ino;
}

fuse_ino_t ops_ino(const struct sim *s, const struct node *n)
{
	return n == s->tree->root ? FUSE_ROOT_ID : (fuse_ino_t)(uintptr_t)n;
}

static void fill_stat(const struct node *n, struct stat *st)
{
	*st = (struct stat){
		.st_ino = n->ino,
		.st_mode = n->mode,
		.st_uid = n->uid,
		.st_gid = n->gid,
		.st_nlink = S_ISDIR(n->mode) ? 2 + n->dir.subdirs : 1,
		.st_blksize = 4096,
	};
	if (S_ISREG(n->mode))
		st->st_size = n->size ? (off_t)n->size : 4096;
}

static bool is_shared(const struct node *n)
{
	return n->row && (n->row->flags & ROW_SHARED);
}

/* FUSE locks a node during a write; sysfs does not: a writer that waits in "unbind" blocks nobody
 * else. So each lookup of such a file gives another node. */
static bool fill_entry(const struct sim *s, struct node *n, struct fuse_entry_param *e)
{
	bool shared = is_shared(n);

	n = shared ? node_alias(n) : node_ref(n);
	if (!n)
		return false;
	*e = (struct fuse_entry_param){
		.ino = ops_ino(s, n),
		.attr_timeout = FOREVER,
		.entry_timeout = shared ? 0 : FOREVER,
	};
	fill_stat(n, &e->attr);
	return true;
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct sim *s = ops_sim(req);
	struct fuse_entry_param e;
	struct node *n;
	bool found;

	pthread_mutex_lock(&s->lock);
	n = tree_find(s->tree, ops_node(s, parent), name);
	found = n && fill_entry(s, n, &e);
	pthread_mutex_unlock(&s->lock);
	if (found)
		fuse_reply_entry(req, &e);
	else
		fuse_reply_err(req, n ? ENOMEM : ENOENT);
}

static void forget_one(struct sim *s, fuse_ino_t ino, uint64_t n)
{
	pthread_mutex_lock(&s->lock);
	if (ino != FUSE_ROOT_ID)
		node_unref(ops_node(s, ino), (uint32_t)n);
	pthread_mutex_unlock(&s->lock);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n)
{
	forget_one(ops_sim(req), ino, n);
	fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *all)
{
	for (size_t i = 0; i < count; i++)
		forget_one(ops_sim(req), all[i].ino, all[i].nlookup);
	fuse_reply_none(req);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct sim *s = ops_sim(req);
	struct stat st;

	pthread_mutex_lock(&s->lock);
	fill_stat(ops_node(s, ino), &st);
	pthread_mutex_unlock(&s->lock);
	fuse_reply_attr(req, &st, FOREVER);
}

/* The size is accepted and ignored, like sysfs does for "> attribute". */
static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *want, int set,
		       struct fuse_file_info *fi)
{
	struct sim *s = ops_sim(req);
	struct node *n = ops_node(s, ino);
	struct stat st;

	pthread_mutex_lock(&s->lock);
	if (set & FUSE_SET_ATTR_MODE)
		n->mode = (n->mode & S_IFMT) | (want->st_mode & 07777);
	if (set & FUSE_SET_ATTR_UID)
		n->uid = want->st_uid;
	if (set & FUSE_SET_ATTR_GID)
		n->gid = want->st_gid;
	fill_stat(n, &st);
	pthread_mutex_unlock(&s->lock);
	fuse_reply_attr(req, &st, FOREVER);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct sim *s = ops_sim(req);
	struct node *n = ops_node(s, ino);
	bool dead;

	pthread_mutex_lock(&s->lock);
	dead = n->dead;
	pthread_mutex_unlock(&s->lock);
	/* The target never changes, and the kernel's reference keeps the node. */
	if (dead)
		fuse_reply_err(req, ENOENT);
	else
		fuse_reply_readlink(req, n->file.data);
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct reader *d = calloc(1, sizeof(*d));

	fi->fh = (uintptr_t)d;
	if (!d)
		fuse_reply_err(req, ENOMEM);
	else if (fuse_reply_open(req, fi))
		free(d);
}

static struct listing *listing_new(const struct node *dir)
{
	struct listing *l;
	size_t n = 0;

	for (struct node *c = dir->dir.first; c; c = c->next)
		n++;
	l = malloc(sizeof(*l) + n * sizeof(l->nodes[0]));
	if (!l)
		return NULL;
	l->n = 0;
	for (struct node *c = dir->dir.first; c; c = c->next)
		l->nodes[l->n++] = node_ref(c);
	return l;
}

static void listing_free(struct listing *l)
{
	for (size_t i = 0; l && i < l->n; i++)
		node_unref(l->nodes[i], 1);
	free(l);
}

static size_t add_entry(fuse_req_t req, struct sim *s, struct node *n, const char *name, char *buf,
			size_t size, off_t next, bool plus)
{
	struct fuse_entry_param e = { 0 };
	size_t used;

	if (plus && name == n->name && !is_shared(n)) {
		fill_entry(s, n, &e);
		used = fuse_add_direntry_plus(req, buf, size, name, &e, next);
		if (used > size)
			node_unref(n, 1);
		return used;
	}
	fill_stat(n, &e.attr);
	return plus ? fuse_add_direntry_plus(req, buf, size, name, &e, next)
		    : fuse_add_direntry(req, buf, size, name, &e.attr, next);
}

static size_t list(fuse_req_t req, struct sim *s, struct node *dir, struct listing *l, char *buf,
		   size_t size, off_t off, bool plus)
{
	size_t at = 0;

	for (size_t i = (size_t)off; i < l->n + 2; i++) {
		struct node *n = i == 0 || !dir->parent ? dir : dir->parent;
		const char *name = i == 0 ? "." : "..";
		size_t used;

		if (i >= 2) {
			n = l->nodes[i - 2];
			name = n->name;
			if (n->dead)
				continue;
		}
		used = add_entry(req, s, n, name, buf + at, size - at, (off_t)i + 1, plus);
		if (used > size - at)
			break;
		at += used;
	}
	return at;
}

static void read_dir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		     struct fuse_file_info *fi, bool plus)
{
	struct sim *s = ops_sim(req);
	struct node *dir = ops_node(s, ino);
	struct reader *d = (struct reader *)(uintptr_t)fi->fh;
	char *buf = malloc(size);
	size_t n = 0;

	pthread_mutex_lock(&s->lock);
	if (!d->list || !off) {
		listing_free(d->list);
		d->list = listing_new(dir);
	}
	if (buf && d->list && off >= 0)
		n = list(req, s, dir, d->list, buf, size, off, plus);
	pthread_mutex_unlock(&s->lock);
	if (buf && d->list)
		fuse_reply_buf(req, buf, n);
	else
		fuse_reply_err(req, ENOMEM);
	free(buf);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		       struct fuse_file_info *fi)
{
	read_dir(req, ino, size, off, fi, false);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
			   struct fuse_file_info *fi)
{
	read_dir(req, ino, size, off, fi, true);
}

static void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct sim *s = ops_sim(req);
	struct reader *d = (struct reader *)(uintptr_t)fi->fh;

	pthread_mutex_lock(&s->lock);
	listing_free(d->list);
	pthread_mutex_unlock(&s->lock);
	free(d);
	fuse_reply_err(req, 0);
}

/* The errors of sysfs for making, moving or removing a name. */
static void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
	(void)parent, (void)name, (void)rdev;
	fuse_reply_err(req, S_ISREG(mode) ? EACCES : EPERM);
}

static void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	(void)parent, (void)name, (void)mode;
	fuse_reply_err(req, EPERM);
}

static void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	(void)parent, (void)name;
	fuse_reply_err(req, EPERM);
}

static void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	(void)target, (void)parent, (void)name;
	fuse_reply_err(req, EPERM);
}

static void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t to,
		      const char *new_name, unsigned int flags)
{
	(void)parent, (void)name, (void)to, (void)new_name, (void)flags;
	fuse_reply_err(req, EPERM);
}

static void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	(void)ino, (void)parent, (void)name;
	fuse_reply_err(req, EPERM);
}

static void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
		      struct fuse_file_info *fi)
{
	(void)parent, (void)name, (void)mode, (void)fi;
	fuse_reply_err(req, EACCES);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct statvfs st = { .f_bsize = 4096, .f_frsize = 4096, .f_namemax = 255 };

	fuse_reply_statfs(req, &st);
}

const struct fuse_lowlevel_ops sim_ops = {
	.lookup = op_lookup,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
	.getattr = op_getattr,
	.setattr = op_setattr,
	.readlink = op_readlink,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.readdirplus = op_readdirplus,
	.releasedir = op_releasedir,
	.open = attr_open,
	.flush = attr_flush,
	.read = attr_read,
	.write = attr_write,
	.mknod = op_mknod,
	.mkdir = op_mkdir,
	.unlink = op_unlink,
	.rmdir = op_unlink,
	.symlink = op_symlink,
	.rename = op_rename,
	.link = op_link,
	.create = op_create,
	.statfs = op_statfs,
};
