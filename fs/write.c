// SPDX-License-Identifier: GPL-2.0-or-later
/* One write is one command: checks its text, its row makes a request of it, the engine runs it. */
#define FUSE_USE_VERSION 312
#include "request.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/ctl/ctl.h"
#include "internal.h"
#include "journal.h"
#include "pcidevfs/err.h"
#include "pcidevfs/txn.h"
#include "pcidevfs/util.h"
#include "record.h"
#include "rights.h"
#include "writers.h"

struct write_job {
	fuse_req_t req;
	struct tree *tree;
	size_t size;
	uint32_t slot;
};

static void reply(fuse_req_t req, int result)
{
	if (result < 0)
		fuse_reply_err(req, -result);
	else
		fuse_reply_write(req, (size_t)result);
}

static void end_write(struct tree *t, uint32_t slot, fuse_req_t req, int result)
{
	request_ends(t, slot, result);
	reply(req, result);
}

static void done(void *ctx, const struct err *err)
{
	struct write_job *job = ctx;

	end_write(job->tree, job->slot, job->req, err->code ? -err->code : (int)job->size);
	free(job);
}

/* Records refusals before the engine, and writes that did not need it. */
static void settle(struct tree *t, const struct node *n, const char *buf, size_t size,
		   const struct actor *who, const struct err *err)
{
	const struct written value = { buf, size < WRITE_MAX ? size : WRITE_MAX };

	record_verdict(t, n->subject.dev ? &n->dev.key : NULL, n->row->name, value, who, err);
	record_pace(t, who); /* a user who has to wait is on an executor here */
}

static int submit(struct tree *t, fuse_req_t req, const struct node *n, uint32_t slot, size_t size,
		  const struct request *request, const struct actor *who)
{
	struct write_job *job = malloc(sizeof(*job));

	if (!job)
		return -ENOMEM;
	*job = (struct write_job){ .req = req, .tree = t, .size = size, .slot = slot };
	request_leaves(t, n, slot);
	txn_submit(t->conf.engine, request, 1, who, done, job);
	/* since before the engine knew of it */
	if (writers_withdrew(t->writers, slot, who->tag))
		txn_interrupt(t->conf.engine, who->tag);
	return 0;
}

static void carry_out(struct tree *t, fuse_req_t req, uint64_t tag, const struct node *n,
		      const struct creds *opened, const char *buf, size_t size, uint32_t slot)
{
	const struct actor who = request_actor(req, tag, opened);
	char text[WRITE_MAX + 1];
	struct request request = { 0 };
	struct err err = { 0 };
	int r = request_text(n->row->name, buf, size, text, &err);

	if (!r)
		r = request_parse(&n->subject, n->row, text, &request, &err);
	if (!r && n->subject.dev)
		r = rights_check_group(t, opened, &n->dev, n->row, &err);
	r = r ? r : rights_check_value(&n->subject, opened, n->row, &request, &err);
	if (!r && request.file[0])
		r = submit(t, req, n, slot, size, &request, &who);
	if (!r && request.file[0])
		return;
	if (r && !err.code)
		fail(&err, -r, "%s: out of memory", n->row->name);
	settle(t, n, buf, size, &who, &err);
	end_write(t, slot, req, r ? r : (int)size);
}

/* A write of a user whose share is bounded. */
struct turn_write {
	struct tree *tree;
	fuse_req_t req;
	uint64_t node, tag;
	uint32_t slot;
	struct creds opened;
	size_t size;
	char buf[WRITE_MAX]; /* the beginning; longer text is refused */
};

static void run_turn(struct engine *e, void *ctx)
{
	struct turn_write *w = ctx;
	struct err err = { 0 };
	struct node n;

	(void)e;
	if (forget_lags(w->tree))
		forget_await(w->tree);
	if (node_get(w->tree, w->node, &n)) {
		end_write(w->tree, w->slot, w->req, -ENODEV);
	} else if (writers_withdrew(w->tree->writers, w->slot, w->tag)) {
		const struct actor who = request_actor(w->req, w->tag, &w->opened);

		fail(&err, EINTR,
		     "%s: interrupted before its turn, and nothing was done; write again",
		     n.row->name);
		settle(w->tree, &n, w->buf, w->size, &who, &err);
		end_write(w->tree, w->slot, w->req, -EINTR);
	} else {
		carry_out(w->tree, w->req, w->tag, &n, &w->opened, w->buf, w->size, w->slot);
	}
	free(w);
}

/* Hundreds of writers wait for their turns on other threads: the FUSE thread must stay free. */
static int await_turn(struct tree *t, fuse_req_t req, uint64_t tag, const struct node *n,
		      const struct creds *opened, const char *buf, size_t size, uint32_t slot)
{
	const struct actor who = { .uid = fuse_req_ctx(req)->uid, .opener = *opened };
	struct turn_write *w = malloc(sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	*w = (struct turn_write){ .tree = t,
				  .req = req,
				  .node = n->node,
				  .tag = tag,
				  .slot = slot,
				  .opened = *opened,
				  .size = size };
	memcpy(w->buf, buf, size < sizeof(w->buf) ? size : sizeof(w->buf));
	request_leaves(t, n, slot);
	r = engine_defer(t->conf.engine, &who, run_turn, w);
	if (r)
		free(w);
	return r == -EDQUOT || r == -ESHUTDOWN ? -EAGAIN : r;
}

static void begin_write(struct tree *t, fuse_req_t req, const struct node *n,
			const struct creds *opened, const char *buf, size_t size, uint32_t slot)
{
	uint64_t tag = t->conf.unique() & ~UNIQUE_RESENT;
	int r = 0;

	request_begins(t, req, slot, tag);
	if (opened->reserve && !forget_lags(t))
		carry_out(t, req, tag, n, opened, buf, size, slot);
	else
		r = await_turn(t, req, tag, n, opened, buf, size, slot);
	if (r)
		end_write(t, slot, req, r);
}

static void take_write(struct tree *t, fuse_req_t req, const struct node *n, uint64_t fh,
		       const struct open_file *file, const char *buf, size_t size, uint32_t slot)
{
	if (n->subject.dev)
		tree_wrote(t, &n->dev.key);
	if (n->row->flags & ATTR_CTL)
		ctl_write(t, req, n, fh, buf, size, slot);
	else
		begin_write(t, req, n, &file->creds, buf, size, slot);
}

void file_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t off,
		struct fuse_file_info *fi)
{
	struct tree *t = fuse_req_userdata(req);
	const struct open_file *file = files_get(t->files, fi->fh);
	struct node n;
	uint32_t slot;
	int result;

	(void)off;
	if (fi->flags & O_DIRECT) /* as for a read */
		fuse_reply_err(req, EINVAL);
	else if (node_get(t, ino, &n))
		fuse_reply_err(req, ENODEV);
	else if (!file)
		fuse_reply_err(req, ESTALE);
	else if (!row_writable(n.row))
		fuse_reply_err(req, EIO);
	else if (!size)
		fuse_reply_write(req, 0);
	else if (journal_begin(t->journal, t->conf.unique(), &slot, &result))
		reply(req, result);
	else
		take_write(t, req, &n, fi->fh, file, buf, size, slot);
}
