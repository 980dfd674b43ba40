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

/* Of users without a reserve. */
struct usage {
	unsigned int mine, all;	    /* ctls open for writing */
	size_t mine_held, all_held; /* bytes */
};

/* With the lock held. What one with a reserve has open is not this user's, even if that is 0. */
static struct usage usage_of(struct tree *t, uid_t uid)
{
	struct usage u = { 0 };
	const struct ctl *ctl;

	for (size_t i = 0; (ctl = ctls_at(t->ctl->store, i)); i++) {
		const struct open_file *file = ctl->fh ? files_get(t->files, ctl->fh) : NULL;
		bool mine = file && file->creds.uid == uid;

		if (!file || file->creds.reserve)
			continue;
		u.all++;
		u.all_held += ctl_held(ctl);
		u.mine += mine;
		u.mine_held += mine ? ctl_held(ctl) : 0;
	}
	return u;
}

bool ctl_may_hold(struct tree *t, const struct creds *who, size_t size)
{
	struct usage u;

	if (who->reserve)
		return true;
	u = usage_of(t, who->uid);
	return u.all_held < CTL_HELD_OF_ALL && u.mine_held + size <= CTL_HELD_OF_ALL - u.all_held;
}

/* With the lock held. */
static int check_share(struct tree *t, const struct creds *who, struct err *err)
{
	struct usage u;

	if (!who || who->reserve)
		return 0;
	u = usage_of(t, who->uid);
	if (u.mine >= CTL_OF_USER)
		return fail(
			err, EMFILE,
			"ctl: user %u has %d open for writing, which is the most for one user; "
			"close some",
			(unsigned int)who->uid, CTL_OF_USER);
	if (u.mine >= CTL_OF_ALL - u.all && u.mine)
		return fail(
			err, EMFILE,
			"ctl: user %u has %u open for writing, which is the most for one user "
			"while all users have %u; close some",
			(unsigned int)who->uid, u.mine, u.all);
	return u.all < CTL_OF_ALL ? 0
				  : fail(err, ENFILE,
					 "ctl: users have %u open for writing, which is the most "
					 "for all; try again when some are closed",
					 u.all);
}

int ctl_open(struct tree *t, uint64_t fh, bool reads, struct err *err)
{
	const struct open_file *file = files_get(t->files, fh);
	const struct creds *who = file ? &file->creds : NULL;
	struct ctl_files *c = t->ctl;
	struct ctl *ctl = NULL;
	int r;

	pthread_mutex_lock(&c->lock);
	r = ctls_find(c->store, fh) ? 0 : check_share(t, who, err);
	if (!r)
		ctl = ctls_open(c->store, fh);
	if (ctl)
		ctl->deaf = !reads;
	else if (!r)
		r = fail(err, ENFILE,
			 "ctl: %d are open for writing, which is the most for all; close some",
			 CTL_FILES);
	pthread_mutex_unlock(&c->lock);
	return r;
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

struct ctl_state job_state(const struct ctl_job *job)
{
	struct ctl_state now;

	pthread_mutex_lock(&job->tree->ctl->lock);
	now = *ctl_now(job->ctl);
	pthread_mutex_unlock(&job->tree->ctl->lock);
	return now;
}
