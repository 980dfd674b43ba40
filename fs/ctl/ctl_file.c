// SPDX-License-Identifier: GPL-2.0-or-later
/* Open ctls: what each has gathered and answered, in memory of this process, and in the stash what
 * the next one must know; who has them open, what they read, and what a close leaves. */
#define FUSE_USE_VERSION 312
#include <errno.h>
#include <fuse_lowlevel.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "ctl_job.h"
#include "fs/files.h"
#include "fs/journal.h"
#include "fs/log/record.h"
#include "lines.h"
#include "pcidevfs/region.h"

#define CTL_ABI 10
#define LOST_ANSWERS                                                                               \
	"error ECONNRESET ctl: the daemon was restarted, and the answers before are lost; what "   \
	"each write returned holds\nend\n"

struct ctl_region {
	struct region_head head;
	uint32_t used; /* none above was ever opened */
	struct ctl_kept kept[CTL_FILES];
};

const struct region_head ctl_layout = { "ctl", CTL_ABI, sizeof(struct ctl_kept) };

/* A former process may have run foreign code. */
static void take_over(struct ctl_files *c, struct ctl *ctl, struct files *files)
{
	struct ctl_kept *k = ctl->kept;
	const struct open_file *file = k->fh ? files_get(files, k->fh) : NULL;

	k->fh = file ? k->fh : 0;
	if (!file)
		return;
	ctl->opener = file->creds;
	quota_count(&c->opened, &ctl->opener, 1);
	k->hello[sizeof(k->hello) - 1] = k->says[sizeof(k->says) - 1] = '\0';
	str_clean(k->hello);
	ctl->broken = k->gathered || k->writer ? ECONNRESET : 0;
	ctl->torn = k->torn;
	if (k->unread)
		ctl_say(ctl, LOST_ANSWERS, strlen(LOST_ANSWERS));
	ctl_count(c, ctl);
}

int ctl_new(void *region, size_t size, struct files *files, struct ctl_files **ret, struct err *err)
{
	struct ctl_files *c = size < sizeof(*c->region) ? NULL : calloc(1, sizeof(*c));
	struct ctl_region *r = region;

	if (!c)
		return fail(err, ENOMEM, "no memory for transactions");
	if (!region_is(&r->head, &ctl_layout)) {
		r->used = 0;
		region_begin(&r->head, &ctl_layout);
	}
	if (r->used > CTL_FILES)
		r->used = CTL_FILES;
	c->region = r;
	c->opened = (struct quota){ .file = "ctl: ",
				    .what = "open for writing",
				    .of_user = CTL_OF_USER,
				    .of_all = CTL_OF_ALL };
	c->held.of_user = c->held.of_all = CTL_HELD_OF_ALL;
	c->queued.of_user = c->queued.of_all = CTL_QUEUED_OF_ALL;
	for (size_t i = 0; i < r->used; i++) {
		c->file[i].kept = &r->kept[i];
		take_over(c, &c->file[i], files);
	}
	pthread_mutex_init(&c->lock, NULL);
	*ret = c;
	return 0;
}

void ctl_free(struct ctl_files *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < CTL_FILES; i++) {
		out_free(&c->file[i].text);
		out_free(&c->file[i].said);
	}
	quota_free(&c->opened);
	quota_free(&c->held);
	quota_free(&c->queued);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

struct ctl *ctl_at(struct ctl_files *c, size_t i)
{
	return i < c->region->used ? &c->file[i] : NULL;
}

struct ctl *ctl_find(struct ctl_files *c, uint64_t fh)
{
	struct ctl *ctl;

	for (size_t i = 0; (ctl = ctl_at(c, i)); i++)
		if (fh && ctl->kept->fh == fh)
			return ctl;
	return NULL;
}

int ctl_add(struct ctl_files *c, uint64_t fh, const struct creds *opener, struct ctl **ret,
	    struct err *err)
{
	struct ctl *ctl = *ret = ctl_find(c, fh);
	size_t i = 0;
	int r;

	if (ctl)
		return 0;
	while (i < c->region->used && c->region->kept[i].fh)
		i++;
	r = quota_check(&c->opened, opener, 1, err);
	if (!r && i == CTL_FILES)
		r = fail(err, ENFILE,
			 "ctl: %d are open for writing, which is the most for all; close some",
			 CTL_FILES);
	r = r ? r : quota_count(&c->opened, opener, 1);
	if (r)
		return r;
	*ret = ctl = &c->file[i];
	*ctl = (struct ctl){ .kept = &c->region->kept[i], .opener = *opener };
	*ctl->kept = (struct ctl_kept){ 0 };
	atomic_signal_fence(memory_order_seq_cst);
	ctl->kept->fh = fh;
	if (i == c->region->used)
		c->region->used++;
	return 0;
}

void ctl_remove(struct ctl_files *c, struct ctl *ctl)
{
	ctl->kept->fh = 0;
	out_free(&ctl->text);
	out_free(&ctl->said);
	ctl_count(c, ctl);
	quota_give(&c->opened, &ctl->opener, 1);
}

void ctl_count(struct ctl_files *c, struct ctl *ctl)
{
	size_t now = ctl->text.len + ctl->said.len;

	if (now < ctl->held)
		quota_give(&c->held, &ctl->opener, ctl->held - now);
	else if (quota_count(&c->held, &ctl->opener, now - ctl->held))
		return;
	ctl->held = now;
}

const char *ctl_line(const struct ctl *ctl, size_t *ret_len)
{
	size_t left = ctl->text.len - ctl->scanned;
	const char *line = left ? ctl->text.data + ctl->scanned : NULL;
	const char *nl = left ? memchr(line, '\n', left) : NULL;

	if (nl)
		*ret_len = (size_t)(nl - line);
	return nl ? line : NULL;
}

/* Takes the beginning off; what is empty gives its memory back. */
static void shift(struct out *o, size_t n)
{
	o->len -= n;
	if (o->len && n)
		memmove(o->data, o->data + n, o->len);
	if (!o->len)
		out_free(o);
}

void ctl_cut(struct ctl *ctl, bool ends)
{
	shift(&ctl->text, ctl->scanned);
	ctl->scanned = 0;
	if (ends)
		ctl->broken = 0;
}

bool ctl_say(struct ctl *ctl, const char *text, size_t len)
{
	bool failed;

	if (ctl->kept->deaf)
		return true;
	shift(&ctl->said, ctl->read);
	ctl->read = 0;
	out_put(&ctl->said, text, len);
	failed = ctl->said.failed;
	ctl->said.failed = false;
	return !failed;
}

size_t ctl_take(struct ctl *ctl, uint64_t unique, char *buf, size_t size)
{
	struct ctl_kept *k = ctl->kept;
	uint64_t by = unique & ~UNIQUE_RESENT;
	size_t n;

	/* A former process took them, and its reader did not get them. */
	if (unique & UNIQUE_RESENT && k->read_by == by && !k->unread)
		ctl_say(ctl, LOST_ANSWERS, strlen(LOST_ANSWERS));
	n = ctl->said.len - ctl->read;
	n = n < size ? n : size;
	if (!n)
		return 0;
	memcpy(buf, ctl->said.data + ctl->read, n);
	ctl->read += n;
	k->read_by = by;
	atomic_signal_fence(memory_order_seq_cst);
	k->unread = ctl->read < ctl->said.len;
	return n;
}

int ctl_open(struct tree *t, uint64_t fh, bool reads, struct err *err)
{
	const struct open_file *file = files_get(t->files, fh);
	struct ctl_files *c = t->ctl;
	struct ctl *ctl;
	int r;

	pthread_mutex_lock(&c->lock);
	r = ctl_add(c, fh, &file->creds, &ctl, err);
	if (!r)
		ctl->kept->deaf = !reads;
	pthread_mutex_unlock(&c->lock);
	return r;
}

bool ctl_ready(struct ctl_files *c, uint64_t fh)
{
	const struct ctl *ctl;
	bool ready;

	pthread_mutex_lock(&c->lock);
	ctl = ctl_find(c, fh);
	ready = ctl && ctl->said.len > ctl->read;
	pthread_mutex_unlock(&c->lock);
	return ready;
}

bool ctl_idle(struct ctl_files *c)
{
	const struct ctl *ctl;
	bool idle = true;

	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; idle && (ctl = ctl_at(c, i)); i++)
		idle = !ctl->queue;
	pthread_mutex_unlock(&c->lock);
	return idle;
}

void ctl_clients(struct ctl_files *c, bool metric, struct out *o)
{
	const struct ctl *ctl;

	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; (ctl = ctl_at(c, i)); i++) {
		const struct ctl_kept *k = ctl->kept;

		if (!k->fh || !k->hello[0])
			continue;
		out_printf(o,
			   metric ? "pcidevfs_client{client=\"%s\",pid=\"%u\","
				  : "client=%s pid=%u",
			   k->hello, k->hello_pid);
		if (metric)
			out_label(o, "says", k->says);
		else if (k->says[0])
			out_pair(o, "says", k->says);
		out_printf(o, metric ? "} 1\n" : "\n");
	}
	pthread_mutex_unlock(&c->lock);
}

void ctl_read(struct tree *t, struct fuse_req *req, uint64_t fh, uint64_t unique, size_t size)
{
	struct ctl_files *c = t->ctl;
	_free_ char *buf = malloc(size ? size : 1);
	struct ctl *ctl;
	size_t n = 0;

	if (!buf) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	pthread_mutex_lock(&c->lock);
	ctl = ctl_find(c, fh);
	if (ctl) {
		n = ctl_take(ctl, unique, buf, size);
		ctl_count(c, ctl);
	}
	pthread_mutex_unlock(&c->lock);
	fuse_reply_buf(req, buf, n);
}

/* ---- lines that were written and never committed: nobody hears the verdict of a close, so the log
 * and last_error tell of them */

struct ctl_leftover ctl_end(struct ctl_files *c, struct ctl *ctl)
{
	struct ctl_leftover left = { ctl->text, ctl->broken, ctl->who };

	ctl->text = (struct out){ 0 };
	ctl_remove(c, ctl);
	return left;
}

/* Adds the line to what is left. A check shows that its writer only asked. */
static void count_line(const char *line, size_t len, unsigned int *n, char first[static LINE_LABEL])
{
	char text[LINE_LABEL], *arg;

	snprintf(text, sizeof(text), "%.*s", (int)len, line);
	if (!strcmp(text, "check")) {
		*n = 0;
		first[0] = '\0';
	} else if (!line_is_idle(text) && !command_of(text, &arg) && !(*n)++)
		str_copy(first, LINE_LABEL, text);
}

void ctl_tell_leftover(struct tree *t, const struct key *home, struct ctl_leftover *left)
{
	const char *at = left->text.data, *end = at + left->text.len, *nl;
	char first[LINE_LABEL] = "";
	struct err err = { 0 };
	unsigned int n = 0;
	bool torn = false; /* the last has no newline, so not even a command was one */

	for (; at < end; at = nl + 1) {
		nl = memchr(at, '\n', (size_t)(end - at));
		torn = !nl;
		nl = nl ? nl : end;
		if (torn)
			n++;
		else
			count_line(at, (size_t)(nl - at), &n, first);
	}
	out_free(&left->text);
	if (!n)
		return;
	fail(&err, ECANCELED,
	     "ctl: closed with %u line%s that %s never committed, so nothing of %s was done; write "
	     "%scommit before the close",
	     n, n > 1 ? "s" : "", n > 1 ? "were" : "was", n > 1 ? "them" : "it",
	     torn ? "a newline after the last one, then " : "");
	record_verdict(t,
		       &(struct verdict_of){ .dev = home,
					     .file = "ctl",
					     .value = written_text(first),
					     .late = left->broken },
		       &left->who, &err);
}

void ctl_release(struct tree *t, uint64_t fh, const struct key *home)
{
	struct ctl_leftover left = { 0 };
	struct ctl_files *c = t->ctl;
	struct ctl *ctl;

	pthread_mutex_lock(&c->lock);
	ctl = ctl_find(c, fh);
	if (ctl && ctl->queue)
		ctl->closing = true;
	else if (ctl)
		left = ctl_end(c, ctl);
	pthread_mutex_unlock(&c->lock);
	ctl_tell_leftover(t, home, &left);
}
