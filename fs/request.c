// SPDX-License-Identifier: GPL-2.0-or-later
/* What all that asks for something has in common: its text, who sent it, and the twin of a file
 * that is being written. */
#define FUSE_USE_VERSION 312
#include "request.h"

#include <errno.h>
#include <fuse_lowlevel.h>
#include <limits.h>
#include <string.h>

#include "internal.h"
#include "journal.h"
#include "pcidevfs/err.h"
#include "pcidevfs/txn.h"
#include "pcidevfs/util.h"
#include "rights.h"
#include "writers.h"

int request_text(const char *file, const char *buf, size_t size, char text[static WRITE_MAX + 1],
		 struct err *err)
{
	size_t clean;

	text[0] = '\0';
	if (size > WRITE_MAX)
		return fail(err, E2BIG, "%s: %zu bytes were written, at most %d are taken at once",
			    file, size, WRITE_MAX);
	if (size && buf[size - 1] == '\n')
		size--;
	memcpy(text, buf, size);
	text[size] = '\0';
	clean = str_clean_len(text, size);
	if (clean == size)
		return 0;
	text[0] = '\0';
	if (buf[clean] == '\n')
		return fail(err, EINVAL, "%s: one line at a time", file);
	return fail(
		err, EINVAL,
		"%s: the value holds a control character, an invisible one or a byte that is not "
		"UTF-8 (%d) at byte %zu",
		file, (unsigned char)buf[clean], clean + 1);
}

int request_parse(const struct subject *s, const struct attr *row, const char *text,
		  struct request *ret, struct err *err)
{
	struct request request = { 0 };
	struct subject of = *s;
	int r;

	of.row = row;
	if (s->dev)
		request.dev = s->dev->key;
	if (!(row->flags & ATTR_ASIDE))
		STR_COPY(request.file, row->name);
	r = row->store(&of, text, &request, err);
	if (row->flags & ATTR_ALIAS && !request.made_by[0])
		STR_COPY(request.as, row->name);
	if (!r)
		*ret = request;
	return r;
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

/* A session's processes cannot change it. Those of none (a service) can set their own: it is for
 * people who read the log, and no right depends on it. */
static uint32_t login_of(pid_t pid)
{
	char text[16];
	uint64_t uid;

	if (!proc_text(pid, "loginuid", text, sizeof(text)) || parse_u64(text, UINT32_MAX, &uid))
		return 0;
	return (uint32_t)uid + 1;
}

struct actor request_actor(fuse_req_t req, uint64_t tag, const struct creds *opened)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	struct actor who = { .uid = ctx->uid, .pid = process_of(ctx->pid), .tag = tag };
	size_t n = proc_text(who.pid, "comm", who.comm, sizeof(who.comm));
	struct creds own;

	who.login = login_of(who.pid);
	if (!opened)
		rights_creds(req, true, &own);
	who.opener = opened ? *opened : own;
	if (n && who.comm[n - 1] == '\n')
		who.comm[n - 1] = '\0';
	str_clean(who.comm);
	return who;
}

void request_leaves(struct tree *t, const struct node *n, uint32_t slot)
{
	if (writers_leave(t->writers, slot, n->node))
		forget_path(t, node_dir(n, n->row), row_leaf(n->row));
}

/* Written down, so that a write that is sent again gets the same one. */
void request_ends(struct tree *t, uint32_t slot, int result)
{
	writers_end(t->writers, slot);
	journal_end(t->journal, slot, result);
}

void request_reply(fuse_req_t req, int result)
{
	if (result < 0)
		fuse_reply_err(req, -result);
	else
		fuse_reply_write(req, (size_t)result);
}

void request_over(struct tree *t, fuse_req_t req, uint32_t slot, int result)
{
	request_ends(t, slot, result);
	request_reply(req, result);
}
