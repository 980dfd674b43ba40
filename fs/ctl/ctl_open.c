// SPDX-License-Identifier: GPL-2.0-or-later
/* Who has ctl open, and what they read of it. */
#define FUSE_USE_VERSION 312
#include <errno.h>
#include <fuse_lowlevel.h>
#include <stdlib.h>

#include "ctl.h"
#include "ctl_job.h"

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

void ctl_clients(struct ctl_files *c, struct out *o)
{
	const struct ctl *ctl;

	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; (ctl = ctl_at(c, i)); i++) {
		const struct ctl_kept *k = ctl->kept;

		if (!k->fh || !k->hello[0])
			continue;
		out_printf(o, "client=%s pid=%u", k->hello, k->hello_pid);
		if (k->says[0])
			out_pair(o, "says", k->says);
		out_printf(o, "\n");
	}
	pthread_mutex_unlock(&c->lock);
}

void ctl_clients_metric(struct ctl_files *c, struct out *o)
{
	const struct ctl *ctl;

	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; (ctl = ctl_at(c, i)); i++) {
		const struct ctl_kept *k = ctl->kept;

		if (!k->fh || !k->hello[0])
			continue;
		out_printf(o, "pcidevfs_client{client=\"%s\",pid=\"%u\",", k->hello,
			   k->hello_pid);
		out_label(o, "says", k->says);
		out_printf(o, "} 1\n");
	}
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
	ctl = ctl_find(c, fh);
	if (ctl)
		n = ctl_take(ctl, unique, buf, size);
	if (ctl)
		ctl_count(c, ctl);
	pthread_mutex_unlock(&c->lock);
	fuse_reply_buf(req, buf, n);
	free(buf);
}
