// SPDX-License-Identifier: GPL-2.0-or-later
/* Who has ctl open, and what they read of it. */
#define FUSE_USE_VERSION 312
#include <errno.h>
#include <fuse_lowlevel.h>
#include <stdlib.h>

#include "ctl.h"
#include "ctl_job.h"

int ctl_new(void *region, size_t size, struct ctl_files **ret, struct err *err)
{
	struct ctl_files *c = calloc(1, sizeof(*c));
	int r = c ? ctls_new(region, size, &c->store, err)
		  : fail(err, ENOMEM, "no memory for transactions");

	if (r) {
		free(c);
		return r;
	}
	pthread_mutex_init(&c->lock, NULL);
	*ret = c;
	return 0;
}

void ctl_free(struct ctl_files *c)
{
	if (!c)
		return;
	ctls_free(c->store);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

struct ctl_side *ctl_side_of(struct ctl_files *c, const struct ctl *ctl)
{
	return &c->side[ctl - ctls_at(c->store, 0)];
}

/* With the lock held. What a privileged process has open is not this user's, even if that is 0. */
static unsigned int opened_by(struct tree *t, uid_t uid)
{
	const struct ctl *ctl;
	unsigned int n = 0;

	for (size_t i = 0; (ctl = ctls_at(t->ctl->store, i)); i++) {
		const struct open_file *file = ctl->fh ? files_get(t->files, ctl->fh) : NULL;

		n += file && file->creds.uid == uid && !file->creds.privileged;
	}
	return n;
}

int ctl_open(struct tree *t, uint64_t fh, struct err *err)
{
	const struct open_file *file = files_get(t->files, fh);
	const struct creds *who = file ? &file->creds : NULL;
	struct ctl_files *c = t->ctl;
	int r = 0;

	pthread_mutex_lock(&c->lock);
	if (!ctls_find(c->store, fh) && who && !who->privileged &&
	    opened_by(t, who->uid) >= CTL_OF_USER)
		r = fail(
			err, EMFILE,
			"ctl: user %u has %d open for writing, which is the most for one; close some",
			(unsigned int)who->uid, CTL_OF_USER);
	else if (!ctls_open(c->store, fh))
		r = -ENFILE;
	pthread_mutex_unlock(&c->lock);
	return r;
}

void ctl_release(struct ctl_files *c, uint64_t fh)
{
	struct ctl *ctl;

	pthread_mutex_lock(&c->lock);
	ctl = ctls_find(c->store, fh);
	if (ctl && ctl_side_of(c, ctl)->queue)
		ctl_side_of(c, ctl)->closing = true;
	else if (ctl)
		ctls_close(c->store, ctl);
	pthread_mutex_unlock(&c->lock);
}

bool ctl_ready(struct ctl_files *c, uint64_t fh)
{
	const struct ctl *ctl;
	bool ready;

	pthread_mutex_lock(&c->lock);
	ctl = ctls_find(c->store, fh);
	ready = ctl && ctl_now(ctl)->said > ctl_now(ctl)->read;
	pthread_mutex_unlock(&c->lock);
	return ready;
}

bool ctl_idle(struct ctl_files *c)
{
	bool idle = true;

	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < CTL_FILES && idle; i++)
		idle = !c->side[i].queue;
	pthread_mutex_unlock(&c->lock);
	return idle;
}

void ctl_clients(struct ctl_files *c, struct out *o)
{
	const struct ctl *ctl;

	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; (ctl = ctls_at(c->store, i)); i++)
		if (ctl->fh && ctl->hello[0])
			out_printf(o, "client=%s pid=%u\n", ctl->hello, ctl->hello_pid);
	pthread_mutex_unlock(&c->lock);
}

void ctl_read(struct tree *t, struct fuse_req *req, uint64_t fh, uint64_t unique, size_t size)
{
	struct ctl_files *c = t->ctl;
	struct ctl *ctl;
	char *buf = malloc(size ? size : 1);
	size_t n = 0;

	if (!buf) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	pthread_mutex_lock(&c->lock);
	ctl = ctls_find(c->store, fh);
	if (ctl)
		n = ctl_take(ctl, unique, buf, size);
	pthread_mutex_unlock(&c->lock);
	fuse_reply_buf(req, buf, n);
	free(buf);
}
