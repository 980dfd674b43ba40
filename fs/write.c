// SPDX-License-Identifier: GPL-2.0-or-later
/* One write is one command: its text is checked here, its row makes a wish of it, the engine does it. */
#define FUSE_USE_VERSION 312
#include "write.h"

#include <ctype.h>
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
#include "twins.h"

int write_text(const char *file, const char *buf, size_t size, char text[static WRITE_MAX + 1],
	       struct err *err)
{
	text[0] = '\0';
	if (size > WRITE_MAX)
		return fail(err, E2BIG, "%s: %zu bytes were written, at most %d are taken at once",
			    file, size, WRITE_MAX);
	if (size && buf[size - 1] == '\n')
		size--;
	for (size_t i = 0; i < size; i++) {
		if (buf[i] == '\n')
			return fail(err, EINVAL, "%s: one line at a time", file);
		if (iscntrl((unsigned char)buf[i]))
			return fail(err, EINVAL,
				    "%s: the value holds a control character (%d) after %zu bytes",
				    file, (unsigned char)buf[i], i);
	}
	memcpy(text, buf, size);
	text[size] = '\0';
	return 0;
}

int write_wish(const struct subject *s, const struct attr *row, const char *text, struct wish *ret,
	       struct err *err)
{
	struct wish wish = { 0 };
	int r;

	if (s->dev)
		wish.dev = s->dev->key;
	if (!(row->flags & ATTR_ASIDE))
		STR_COPY(wish.file, row->name);
	r = row->store(s, text, &wish, err);
	if (!r)
		*ret = wish;
	return r;
}

size_t proc_text(pid_t pid, const char *file, char *text, size_t size)
{
	char path[64];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	fd = pid > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd >= 0) {
		n = read(fd, text, size - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

/* The kernel names the thread. */
static pid_t process_of(pid_t thread)
{
	char status[1024];
	uint64_t pid;
	char *line;

	proc_text(thread, "status", status, sizeof(status));
	line = strstr(status, "\nTgid:\t");
	if (!line)
		return thread;
	line += strlen("\nTgid:\t");
	line[strspn(line, "0123456789")] = '\0';
	return parse_u64(line, INT_MAX, &pid) ? thread : (pid_t)pid;
}

struct actor write_actor(fuse_req_t req, uint64_t tag, const struct creds *opened)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	struct actor who = { .uid = ctx->uid, .pid = process_of(ctx->pid), .tag = tag };
	size_t n = proc_text(who.pid, "comm", who.comm, sizeof(who.comm));
	struct creds own;

	if (!opened)
		rights_creds(req, true, &own);
	who.opener = opened ? *opened : own;
	if (n && who.comm[n - 1] == '\n')
		who.comm[n - 1] = '\0';
	return who;
}

/* The writer got a signal. Called by the FUSE thread. What tag belongs to may have its answer by now. */
static void interrupted(fuse_req_t req, void *tag)
{
	struct tree *t = fuse_req_userdata(req);

	/* In this order: see run_commit(). */
	ctl_interrupt(t, (uintptr_t)tag);
	txn_interrupt(t->conf.engine, (uintptr_t)tag);
}

void write_interruptible(fuse_req_t req, uint64_t tag)
{
	fuse_req_interrupt_func(req, interrupted, (void *)(uintptr_t)tag);
}

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

void write_leaves(struct tree *t, const struct node *n, uint32_t slot)
{
	uint16_t dir = n->row->in ? n->row->in : ROW_SELF;

	if (twins_begin(t->twins, n->node, slot))
		forget_path(t, objects_sibling(n->ino, dir), n->row->name);
}

/* Written down, so that a write that is sent again gets the same one. */
void write_ends(struct tree *t, uint32_t slot, int result)
{
	journal_end(t->journal, slot, result);
	twins_end(t->twins, slot);
}

static void end_write(struct tree *t, uint32_t slot, fuse_req_t req, int result)
{
	write_ends(t, slot, result);
	reply(req, result);
}

static void done(void *ctx, const struct err *err)
{
	struct write_job *job = ctx;

	end_write(job->tree, job->slot, job->req, err->code ? -err->code : (int)job->size);
	free(job);
}

/* Refusals before the engine, and what needed no engine. */
static void settle(struct tree *t, const struct node *n, const char *buf, size_t size,
		   const struct actor *who, const struct err *err)
{
	const struct written value = { buf, size < WRITE_MAX ? size : WRITE_MAX };

	record_verdict(t, n->subject.dev ? &n->dev.key : NULL, n->row->name, value, who, err, 0);
}

static int submit(struct tree *t, fuse_req_t req, const struct node *n, uint32_t slot, size_t size,
		  const struct wish *wish, const struct actor *who)
{
	struct write_job *job = malloc(sizeof(*job));

	if (!job)
		return -ENOMEM;
	*job = (struct write_job){ .req = req, .tree = t, .size = size, .slot = slot };
	write_interruptible(req, who->tag);
	write_leaves(t, n, slot);
	txn_submit(t->conf.engine, wish, 1, who, done, job);
	return 0;
}

static void carry_out(struct tree *t, fuse_req_t req, uint64_t tag, const struct node *n,
		      const struct creds *opened, const char *buf, size_t size, uint32_t slot)
{
	const struct actor who = write_actor(req, tag, opened);
	char text[WRITE_MAX + 1];
	struct wish wish = { 0 };
	struct err err = { 0 };
	int r = write_text(n->row->name, buf, size, text, &err);

	if (!r)
		r = write_wish(&n->subject, n->row, text, &wish, &err);
	if (!r && n->subject.dev)
		r = rights_check_group(t, opened, &n->dev, n->row, &err);
	r = r ? r : rights_check_value(&n->subject, opened, n->row, &wish, &err);
	if (!r && wish.file[0])
		r = submit(t, req, n, slot, size, &wish, &who);
	if (!r && wish.file[0])
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
	char buf[WRITE_MAX]; /* the beginning; what is longer is refused */
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
	} else if (fuse_req_interrupted(w->req)) {
		const struct actor who = write_actor(w->req, w->tag, &w->opened);

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

/* Writers by hundreds wait for each other, not the FUSE thread for them: it would have no time for anybody else. */
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
	write_leaves(t, n, slot);
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

	if (opened->reserve && !forget_lags(t))
		carry_out(t, req, tag, n, opened, buf, size, slot);
	else
		r = await_turn(t, req, tag, n, opened, buf, size, slot);
	if (r)
		end_write(t, slot, req, r);
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
	if (node_get(t, ino, &n))
		fuse_reply_err(req, ENODEV);
	else if (!file)
		fuse_reply_err(req, ESTALE);
	else if (!row_writable(n.row))
		fuse_reply_err(req, EIO);
	else if (!size)
		fuse_reply_write(req, 0);
	else if (journal_begin(t->journal, t->conf.unique(), &slot, &result))
		reply(req, result);
	else if (n.row->flags & ATTR_CTL)
		ctl_write(t, req, &n, fi->fh, buf, size, slot);
	else
		begin_write(t, req, &n, &file->creds, buf, size, slot);
}
