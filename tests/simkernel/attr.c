// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads and writes attributes. A read of memory is answered at once. A call that may wait (a write
 * that acts, a read under a held device lock, a fault set by a test) gets its own thread. */
#include "effects.h"
#include "dev.h"
#include "ops.h"
#include "sim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define STACK_SIZE (256 << 10)

struct call {
	struct sim *s;
	fuse_req_t req;
	struct node *node;
	bool write;
	size_t size;
	off_t off;
	char text[]; /* the text to write, with a NUL at the end */
};

/* The mode applies to root too, unlike elsewhere. */
static int may_open(const struct node *n, int how)
{
	if (n->dead)
		return ENODEV;
	if ((how != O_WRONLY && !(n->mode & 0444)) || (how != O_RDONLY && !(n->mode & 0222)))
		return EACCES;
	return 0;
}

void attr_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct sim *s = ops_sim(req);
	struct node *n = ops_node(s, ino);
	bool counts;
	int r;

	pthread_mutex_lock(&s->lock);
	r = may_open(n, fi->flags & O_ACCMODE);
	counts = n->row && n->row->opened;
	if (!r && counts)
		r = n->row->opened(s, n->obj, true);
	pthread_mutex_unlock(&s->lock);
	fi->direct_io = 1;
	fi->noflush = !counts;
	if (r)
		fuse_reply_err(req, abs(r));
	else
		fuse_reply_open(req, fi);
}

/* Each close waits for it, also that of a process that ends. */
void attr_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct sim *s = ops_sim(req);
	struct node *n = ops_node(s, ino);

	(void)fi;
	pthread_mutex_lock(&s->lock);
	if (n->row && n->row->opened)
		n->row->opened(s, n->obj, false);
	pthread_mutex_unlock(&s->lock);
	fuse_reply_err(req, 0);
}

static void reply_part(fuse_req_t req, const char *data, size_t len, size_t size, off_t off)
{
	size_t from = off < 0 || (size_t)off > len ? len : (size_t)off;

	fuse_reply_buf(req, data + from, len - from < size ? len - from : size);
}

/* Call it with the lock held; releases the lock. */
static void read_now(struct sim *s, fuse_req_t req, const struct node *n, size_t size, off_t off)
{
	char page[SHOW_MAX];
	const char *data = n->file.data;
	ssize_t len = (ssize_t)n->file.len;

	if (n->dead)
		len = -ENODEV;
	else if (n->size && !len)
		len = -EIO; /* a memory resource can be mapped, not read */
	else if (n->row && n->row->show) {
		len = n->row->show(s, n->obj, page);
		data = page;
	} else if (n->row)
		len = -EIO;
	if (len < 0)
		fuse_reply_err(req, (int)-len);
	else
		reply_part(req, data, (size_t)len, size, off);
	pthread_mutex_unlock(&s->lock);
}

static bool is_locked(const struct sim *s, const struct node *n)
{
	return n->row &&
	       n->row->flags & (s->free_override ? ROW_LOCKED : ROW_LOCKED | ROW_LOCKED_OLD);
}

static bool would_wait(struct sim *s, const struct node *n)
{
	const struct dev *d = n->obj;

	return (is_locked(s, n) && d->busy) || fault_matches(s, n);
}

static int read_slowly(struct call *c)
{
	const struct node *n = c->node;
	int r = fault_meet(c->s, n);

	return r || !is_locked(c->s, n) ? r : dev_read_lock(c->s, n->obj);
}

static int store(struct call *c)
{
	struct node *n = c->node;

	if (n->dead)
		return -ENODEV;
	if (n->row)
		return n->row->store ? n->row->store(c->s, n->obj, c->text, c->size) : -EIO;
	return node_set(n, c->text, c->size);
}

static int write_slowly(struct call *c)
{
	bool mine = false;
	int r = fault_meet(c->s, c->node), waited = 0;

	if (!r)
		r = nth_before(c->s, &mine);
	if (!r)
		r = store(c);
	if (mine)
		waited = nth_after(c->s);
	return r ? r : waited;
}

static void *run(void *arg)
{
	struct call *c = arg;
	struct sim *s = c->s;
	int r;

	pthread_mutex_lock(&s->lock);
	r = c->write ? write_slowly(c) : read_slowly(c);
	if (c->write)
		sim_sync(s);
	if (r || c->write) {
		pthread_mutex_unlock(&s->lock);
		if (r)
			fuse_reply_err(c->req, -r);
		else
			fuse_reply_write(c->req, c->size);
	} else {
		read_now(s, c->req, c->node, c->size, c->off);
	}
	pthread_mutex_lock(&s->lock);
	node_unref(c->node, 1);
	pthread_mutex_unlock(&s->lock);
	free(c);
	return NULL;
}

static int start(struct call *c)
{
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	r = pthread_create(&thread, &attr, run, c);
	pthread_attr_destroy(&attr);
	return r;
}

/* Call it with the lock held. */
static void in_thread(fuse_req_t req, struct node *n, const char *text, size_t size, off_t off)
{
	struct call *c = malloc(sizeof(*c) + (text ? size : 0) + 1);

	if (!c) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	*c = (struct call){ ops_sim(req), req, node_ref(n), text != NULL, size, off };
	if (text) {
		memcpy(c->text, text, size);
		c->text[size] = 0;
	}
	if (start(c)) {
		node_unref(n, 1);
		free(c);
		fuse_reply_err(req, EAGAIN);
	}
}

void attr_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct sim *s = ops_sim(req);
	struct node *n = ops_node(s, ino);

	pthread_mutex_lock(&s->lock);
	/* Only the first read calls the kernel's show; later ones get parts of its result. Each
	 * read of a binary attribute is made anew. */
	if ((off && !n->size) || !would_wait(s, n)) {
		read_now(s, req, n, size, off);
		return;
	}
	in_thread(req, n, NULL, size, off);
	pthread_mutex_unlock(&s->lock);
}

void attr_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t off,
		struct fuse_file_info *fi)
{
	struct sim *s = ops_sim(req);
	struct node *n = ops_node(s, ino);

	(void)fi, (void)off;
	if (!size) {
		fuse_reply_write(req, 0);
		return;
	}
	if (size >= PAGE_TEXT && !n->size) {
		fuse_reply_err(req, EINVAL);
		return;
	}
	pthread_mutex_lock(&s->lock);
	in_thread(req, n, buf, size, 0);
	pthread_mutex_unlock(&s->lock);
}
