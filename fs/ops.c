// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of FUSE handlers. For a missing one libfuse answers ENOSYS, and the kernel remembers it
 * for the whole mount. What it makes of that is what sysfs does, and it stops asking, for fsync and
 * flush (0), extended attributes (else ls -l would ask twice for each file), fallocate and
 * copy_file_range (EOPNOTSUPP); lseek it then does by itself. FORGET has no answer: ids stay valid
 * for ever. All others are here, above all poll. */
#define FUSE_USE_VERSION 312
#include <errno.h>
#include <fuse_lowlevel.h>
#include <string.h>
#include <sys/stat.h>

#include "internal.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"
#include "fs/log/record.h"

/* A size is accepted and ignored. */
static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
		       struct fuse_file_info *fi)
{
	if (to_set & ~FUSE_SET_ATTR_SIZE)
		owner_setattr(req, ino, attr, to_set);
	else
		node_getattr(req, ino, fi);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct tree *t = fuse_req_userdata(req);
	struct out o = { 0 };
	struct node n;
	int r = node_get(t, ino, &n);

	if (!r && (!n.row || !S_ISLNK(n.row->mode)))
		r = -EINVAL;
	if (!r)
		row_show(n.row, &n.subject, &o);
	if (!r && o.failed)
		r = -ENOMEM;
	if (r)
		fuse_reply_err(req, -r);
	else
		fuse_reply_readlink(req, out_text(&o));
	out_free(&o);
}

static void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
	fuse_reply_err(req, S_ISREG(mode) ? EACCES : EPERM); /* as sysfs: creat and mknod differ */
}

static void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	fuse_reply_err(req, EPERM);
}

static void op_remove(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	fuse_reply_err(req, EPERM);
}

static void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	fuse_reply_err(req, EPERM);
}

static void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t to,
		      const char *new_name, unsigned int flags)
{
	fuse_reply_err(req, flags ? EINVAL : EPERM);
}

static void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	fuse_reply_err(req, EPERM);
}

/* Somebody opens, for writing, a name that this directory lacks: a typo, or a device of another
 * kind. */
static void refuse_name(const struct node *n, const char *name, struct err *err)
{
	const struct attr *row = attr_by_name(n->kind, name);
	const char *where = n->subject.dev ? n->dev.key.name : "the root of this tree";

	if (row && n->subject.dev)
		device_lacks(&n->dev, row->name, err);
	else
		fail(err, EACCES,
		     "%.64s: there is no file of that name in %s; write for example %s", name,
		     where, n->subject.dev ? "claim" : "ctl");
	err->code = EACCES;
}

static void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
		      struct fuse_file_info *fi)
{
	struct tree *t = fuse_req_userdata(req);
	struct err err = { 0 };
	char buf[NODE_PATH];
	struct node n;

	if (!node_get(t, parent, &n) && (!n.row || !n.row->entries)) {
		name = node_path(&n, name, buf);
		refuse_name(&n, name, &err);
		record_refused_open(t, req, &n, name, &err);
	}
	fuse_reply_err(req, EACCES);
}

static void op_syncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	fuse_reply_err(req, EINVAL);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct statvfs st = { .f_bsize = 4096, .f_frsize = 4096, .f_namemax = OBJECT_NAME - 1 };

	fuse_reply_statfs(req, &st);
}

static void op_ioctl(fuse_req_t req, fuse_ino_t ino, unsigned int cmd, void *arg,
		     struct fuse_file_info *fi, unsigned int flags, const void *in, size_t in_size,
		     size_t out_size)
{
	fuse_reply_err(req, ENOTTY);
}

const struct fuse_lowlevel_ops *tree_ops(void)
{
	static const struct fuse_lowlevel_ops ops = {
		.lookup = dir_lookup,
		.getattr = node_getattr,
		.setattr = op_setattr,
		.readlink = op_readlink,
		.mknod = op_mknod,
		.mkdir = op_mkdir,
		.unlink = op_remove,
		.rmdir = op_remove,
		.symlink = op_symlink,
		.rename = op_rename,
		.link = op_link,
		.open = file_open,
		.read = file_read,
		.write = file_write,
		.release = file_release,
		.opendir = dir_open,
		.readdir = dir_read,
		.readdirplus = dir_readplus,
		.fsyncdir = op_syncdir,
		.statfs = op_statfs,
		.create = op_create,
		.ioctl = op_ioctl,
		.poll = file_poll,
	};

	return &ops;
}
