// SPDX-License-Identifier: GPL-2.0-or-later
/* One write is one command: checks its text, its row makes a request of it, the engine runs it. */
#define FUSE_USE_VERSION 312
#include "request.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <stdlib.h>
#include <string.h>

#include "fs/ctl/ctl.h"
#include "internal.h"
#include "journal.h"
#include "pcidevfs/err.h"
#include "pcidevfs/txn.h"
#include "pcidevfs/util.h"
#include "fs/log/record.h"
#include "rights.h"
#include "writers.h"

struct write_job {
	struct tree *tree;
	fuse_req_t req;
	uint64_t node, tag;
	uint32_t slot;
	struct creds opened;
	size_t size;
	char buf[WRITE_MAX]; /* the beginning; longer text is refused */
};

static void end_write(struct write_job *job, int result)
{
	request_over(job->tree, job->req, job->slot, result);
	free(job);
}

static void done(void *ctx, const struct err *err)
{
	struct write_job *job = ctx;

	end_write(job, err->code ? -err->code : (int)job->size);
}

/* Records a refusal before the engine, or a write that did not need it. */
static void settle(struct write_job *job, const struct node *n, const struct actor *who,
		   const struct err *err)
{
	const struct verdict_of asked = {
		.dev = node_device(n),
		.file = n->row->name,
		.value = { job->buf, job->size < WRITE_MAX ? job->size : WRITE_MAX },
	};

	record_verdict(job->tree, &asked, who, err);
	record_pace(job->tree, who); /* a user who has to wait is on an executor here */
	end_write(job, err->code ? -err->code : (int)job->size);
}

static void submit(struct write_job *job, const struct node *n, const struct request *request,
		   const struct actor *who)
{
	struct tree *t = job->tree;
	uint32_t slot = job->slot;

	request_leaves(t, n, slot);
	txn_submit(t->conf.engine, request, 1, who, done, job);
	/* since before the engine knew of it */
	if (writers_withdrew(t->writers, slot, who->tag))
		txn_interrupt(t->conf.engine, who->tag);
}

static void carry_out(struct write_job *job, const struct node *n)
{
	const struct actor who = request_actor(job->req, job->tag, &job->opened);
	struct tree *t = job->tree;
	char text[WRITE_MAX + 1];
	struct request request = { 0 };
	struct err err = { 0 };
	int r = request_text(n->row->name, job->buf, job->size, text, &err);

	if (!r)
		r = request_parse(&n->subject, n->row, text, &request, &err);
	if (!r && n->subject.dev)
		r = rights_check_group(t, &job->opened, &n->dev, n->row, &err);
	r = r ? r : rights_check_value(&n->subject, &job->opened, n->row, &request, &err);
	if (r && !err.code)
		fail(&err, -r, "%s: %s", n->row->name, strerror(-r));
	if (!r && request.file[0])
		submit(job, n, &request, &who);
	else
		settle(job, n, &who, &err);
}

static void run_turn(void *ctx)
{
	struct write_job *job = ctx;
	struct tree *t = job->tree;
	struct err err = { 0 };
	struct node n;

	if (forget_lags(t))
		forget_await(t);
	if (node_get(t, job->node, &n)) {
		end_write(job, -ENODEV);
	} else if (writers_withdrew(t->writers, job->slot, job->tag)) {
		const struct actor who = request_actor(job->req, job->tag, &job->opened);

		fail(&err, EINTR,
		     "%s: interrupted before its turn, and nothing was done; write again",
		     n.row->name);
		settle(job, &n, &who, &err);
	} else {
		carry_out(job, &n);
	}
}

/* Hundreds of writers wait for their turns on other threads: the FUSE thread must stay free. */
static void await_turn(struct write_job *job, const struct node *n)
{
	const struct actor who = { .uid = fuse_req_ctx(job->req)->uid, .opener = job->opened };
	int r;

	request_leaves(job->tree, n, job->slot);
	r = engine_defer(job->tree->conf.engine, &who, run_turn, job);
	if (r)
		end_write(job, r == -EDQUOT || r == -ESHUTDOWN ? -EAGAIN : r);
}

static void begin_write(struct tree *t, fuse_req_t req, const struct node *n,
			const struct creds *opened, const char *buf, size_t size, uint32_t slot)
{
	uint64_t tag = t->conf.unique() & ~UNIQUE_RESENT;
	struct write_job *job = malloc(sizeof(*job));

	writers_begin(t->writers, req, slot, tag);
	if (!job) {
		request_over(t, req, slot, -ENOMEM);
		return;
	}
	*job = (struct write_job){ .tree = t,
				   .req = req,
				   .node = n->node,
				   .tag = tag,
				   .slot = slot,
				   .opened = *opened,
				   .size = size };
	memcpy(job->buf, buf, size < sizeof(job->buf) ? size : sizeof(job->buf));
	if (opened->reserve && !forget_lags(t))
		carry_out(job, n);
	else
		await_turn(job, n);
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
		request_reply(req, result);
	else
		take_write(t, req, &n, fi->fh, file, buf, size, slot);
}
