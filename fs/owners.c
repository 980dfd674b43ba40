// SPDX-License-Identifier: GPL-2.0-or-later
/* Owners of files. Those set by chmod and chown on a device's files are stored with its intents and
 * hold again after a reboot; likewise for the root's own files. Those of other files (of resources,
 * of views' directories), and all times, end with the mount. */
#define FUSE_USE_VERSION 312
#include <errno.h>
#include <fuse_lowlevel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "internal.h"
#include "pcidevfs/err.h"
#include "pcidevfs/intent.h"
#include "pcidevfs/pool.h"
#include "pcidevfs/txn.h"
#include "pcidevfs/util.h"
#include "fs/log/record.h"
#include "request.h"

#define SET_RIGHTS (FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)

struct owner_job {
	fuse_req_t req;
	struct tree *tree;
	struct node n;
	struct owner own;
	int to_set; /* FUSE_SET_ATTR_*: SET_RIGHTS or only times */
};

void owners_forget(struct tree *t, const struct key *dev)
{
	enum obj_kind kind = kind_of_bus(dev ? dev->bus : BUS_NONE);
	uint64_t ino[ROW_MAX + 1];
	const struct attr *row;
	size_t count = 0;
	uint32_t slot;

	pthread_mutex_lock(&t->lock);
	slot = dev ? device_slot(t, dev) : 0;
	if (slot != NO_SLOT)
		ino[count++] = objects_ino(t->objects, slot, ROW_SELF);
	for (size_t i = 0; count && (row = row_at(kind, i)) && count <= ROW_MAX; i++)
		if (owner_is_kept(t, kind, row))
			ino[count++] = objects_ino(t->objects, slot, row->id);
	for (size_t i = 0; i < count; i++)
		objects_drop_owner(t->objects, ino[i]);
	pthread_mutex_unlock(&t->lock);
	for (size_t i = 0; i < count; i++)
		forget_attr(t, ino[i]);
}

/* Is the owner the initial one? */
static bool is_born_so(const void *ctx, const char *file, const struct ownership *owner)
{
	const struct owner_job *job = ctx;
	const struct attr *row = attr_by_name(job->n.kind, file);
	struct stat st = { .st_mode = S_IFDIR | DIR_MODE };

	if (file[0] && (!row || !owner_is_kept(job->tree, job->n.kind, row)))
		return false;
	if (row)
		node_rights_at_birth(job->tree, &job->n, row, &st);
	return (st.st_mode & 07777) == owner->mode && st.st_uid == owner->uid &&
	       st.st_gid == owner->gid;
}

/* No file is a program, nothing can be made in a directory, and some files cannot be read or
 * written. */
static mode_t mode_limit(const struct attr *row)
{
	if (!row || S_ISDIR(row->mode))
		return DIR_MODE;
	return (row_readable(row) ? 0444 : 0) | (row_writable(row) ? 0222 : 0);
}

static int refuse_mode(const struct owner_job *job, struct err *err)
{
	const struct attr *row = job->n.row;
	mode_t most = mode_limit(row), odd = job->own.mode & ~most;

	if (!(job->to_set & FUSE_SET_ATTR_MODE) || !odd)
		return 0;
	return fail(err, EINVAL,
		    "%s: mode %03o is not for %s, which has at most %03o; leave out %03o",
		    row ? row->name : ".", (unsigned int)job->own.mode,
		    node_is_dir(&job->n) ? "a directory of this tree" : "this file",
		    (unsigned int)most, (unsigned int)odd);
}

/* Writes a log line too, so the log tells who gave a device away. */
static int keep(struct owner_job *job)
{
	const struct ownership is = { job->own.uid, job->own.gid, job->own.mode };
	const struct actor who = request_actor(job->req, 0, NULL);
	const char *file = job->n.row ? job->n.row->name : "";
	struct verdict_of asked = { .dev = node_device(&job->n), .aside = true };
	struct err err = { 0 };
	char value[64];
	const struct owner_default born = { is_born_so, job };
	int r = refuse_mode(job, &err);
	struct stat was;

	node_stat(job->tree, &job->n, job->n.row, &was);
	/* vim sets the mode that the file has after each :w */
	err.idle = !r && is.uid == was.st_uid && is.gid == was.st_gid &&
		   is.mode == (was.st_mode & 07777);
	r = r ? r : intents_set_owner(job->tree->conf.intents, asked.dev, file, &is, &born, &err);
	snprintf(value, sizeof(value), "%u:%u:%04o", (unsigned int)is.uid, (unsigned int)is.gid,
		 (unsigned int)is.mode);
	asked.file = file[0] ? file : ".";
	asked.value = written_text(value);
	record_verdict(job->tree, &asked, &who, &err);
	record_pace(job->tree, &who);
	return r;
}

/* utimes must not set an owner: it keeps the present one, which may be the directory's. Call it
 * with the tree's lock held. */
static void leave_rights(struct tree *t, uint64_t ino, struct owner *own)
{
	struct owner now;

	own->only_times = !objects_owner(t->objects, ino, &now) || now.only_times;
	if (own->only_times)
		return;
	own->mode = now.mode;
	own->uid = now.uid;
	own->gid = now.gid;
}

/* May wait for the disk, and drops caches: never on the FUSE thread. */
static void set_owner(void *ctx)
{
	struct owner_job *job = ctx;
	struct tree *t = job->tree;
	struct forgets notes = { 0 };
	struct stat st;
	bool rights = job->to_set & SET_RIGHTS;
	bool kept = rights && owner_is_kept(t, job->n.kind, job->n.row);
	int r = kept ? keep(job) : refuse_mode(job, NULL);

	pthread_mutex_lock(&t->lock);
	if (!rights)
		leave_rights(t, job->n.ino, &job->own);
	job->own.only_times |= kept; /* the owner is stored with the intents, or nowhere */
	r = r ? r : objects_set_owner(t->objects, job->n.ino, &job->own);
	/* A directory's owner also applies to the files in it. */
	if (!r && rights && !job->n.row)
		forget_rows(t, job->n.slot, CH_RIGHTS, &notes);
	pthread_mutex_unlock(&t->lock);
	forget_all(t, &notes);
	if (objects_known(t->objects, job->n.ino) > 1)
		forget_attr(t, job->n.ino);
	node_stat(t, &job->n, job->n.row, &st);
	if (r)
		fuse_reply_err(job->req, -r);
	else
		fuse_reply_attr(job->req, &st, attr_seconds(job->n.row));
	free(job);
}

static struct timespec stamp(const struct timespec *given, bool now)
{
	struct timespec ts = *given;

	if (now)
		clock_gettime(CLOCK_REALTIME, &ts);
	return ts;
}

static struct owner wanted_owner(const struct stat *st, const struct stat *attr, int to_set)
{
	struct owner own = {
		.mode = st->st_mode & 07777,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.atime = st->st_atim,
		.mtime = st->st_mtim,
	};

	if (to_set & FUSE_SET_ATTR_MODE)
		own.mode = attr->st_mode & 07777;
	if (to_set & FUSE_SET_ATTR_UID)
		own.uid = attr->st_uid;
	if (to_set & FUSE_SET_ATTR_GID)
		own.gid = attr->st_gid;
	if (to_set & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_ATIME_NOW))
		own.atime = stamp(&attr->st_atim, to_set & FUSE_SET_ATTR_ATIME_NOW);
	if (to_set & (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW))
		own.mtime = stamp(&attr->st_mtim, to_set & FUSE_SET_ATTR_MTIME_NOW);
	return own;
}

static int set_later(struct owner_job *job)
{
	struct tree *t = job->tree;
	struct actor who;

	if (!(job->to_set & SET_RIGHTS))
		return pool_submit(t->commands, set_owner, job);
	who = request_actor(job->req, 0, NULL);
	return engine_defer(t->conf.engine, &who, set_owner, job);
}

void owner_setattr(fuse_req_t req, uint64_t ino, const struct stat *attr, int to_set)
{
	struct tree *t = fuse_req_userdata(req);
	struct owner_job *job = malloc(sizeof(*job));
	int r = job ? node_get(t, ino, &job->n) : -ENOMEM;
	struct stat st;

	if (!r) {
		node_stat(t, &job->n, job->n.row, &st);
		job->req = req;
		job->tree = t;
		job->own = wanted_owner(&st, attr, to_set);
		job->to_set = to_set;
		r = set_later(job);
	}
	if (!r)
		return;
	fuse_reply_err(req, r == -EDQUOT ? EAGAIN : -r);
	free(job);
}
