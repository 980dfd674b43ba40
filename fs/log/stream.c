// SPDX-License-Identifier: GPL-2.0-or-later
#define FUSE_USE_VERSION 312
#include "stream.h"

#include <errno.h>
#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/files.h"
#include "fs/journal.h"
#include "pcidevfs/err.h"
#include "ring.h"

#define READ_MAX 65536

enum special { SPECIAL_NONE, SPECIAL_HELLO, SPECIAL_LOST };

struct parked {
	struct parked *next;
	fuse_req_t req;
	struct open_file *file;
	size_t size;
};

struct stream {
	struct ring *ring;
	pthread_mutex_t lock; /* guards all below, and moves of any cursor */
	struct parked *parked;
	uint64_t generation;
	char buf[READ_MAX]; /* the answer that is being sent */
};

int stream_new(struct ring *ring, struct stream **ret, struct err *err)
{
	struct stream *s = calloc(1, sizeof(*s));

	if (!s)
		return fail_nomem(err);
	s->ring = ring;
	pthread_mutex_init(&s->lock, NULL);
	*ret = s;
	return 0;
}

void stream_free(struct stream *s)
{
	if (!s)
		return;
	while (s->parked) {
		struct parked *p = s->parked;

		s->parked = p->next;
		fuse_reply_none(p->req);
		free(p);
	}
	pthread_mutex_destroy(&s->lock);
	free(s);
}

struct cursor stream_start(struct stream *s, uint64_t generation)
{
	const struct ring_span span = ring_span(s->ring);

	return (struct cursor){
		.pos = span.head,
		.special = SPECIAL_HELLO,
		.seq = span.seq,
		.generation = generation,
	};
}

/* The line that is not in the ring. It must read the same however reads split it. */
static size_t special_text(const struct cursor *at, char *buf, size_t size)
{
	char line[96];
	int len = snprintf(line, sizeof(line), "seq=%llu generation=%llu action=%s\n",
			   (unsigned long long)at->seq, (unsigned long long)at->generation,
			   at->special == SPECIAL_HELLO ? "hello" : "lost");
	size_t left = at->off < (size_t)len ? (size_t)len - at->off : 0;

	if (left > size)
		left = size;
	memcpy(buf, line + at->off, left);
	return left;
}

/* Takes what there is and moves the cursor behind it. Call it with the lock held. */
static size_t take(struct stream *s, struct cursor *at, char *buf, size_t size)
{
	uint64_t tail, seq;
	size_t n = 0;

	while (n < size) {
		long got;

		if (at->special) {
			got = (long)special_text(at, buf + n, size - n);
			at->off += (uint32_t)got;
			if (!got)
				at->special = at->off = 0;
			n += (size_t)got;
			continue;
		}
		got = ring_read(s->ring, at->pos, buf + n, size - n, &tail, &seq);
		if (got < 0) {
			*at = (struct cursor){ .pos = tail,
					       .special = SPECIAL_LOST,
					       .seq = seq,
					       .generation = s->generation };
			continue;
		}
		if (!got)
			break;
		at->pos += (uint64_t)got;
		n += (size_t)got;
	}
	return n;
}

/* False: nothing to read yet. Call it with the lock held. */
static bool answer(struct stream *s, fuse_req_t req, struct open_file *file, size_t size)
{
	size_t n = take(s, &file->at, s->buf, size < sizeof(s->buf) ? size : sizeof(s->buf));

	if (!n)
		return false;
	fuse_reply_buf(req, s->buf, n);
	return true;
}

/* The reader got a signal. Called on the FUSE thread. */
static void interrupted(fuse_req_t req, void *ctx)
{
	struct stream *s = ctx;
	struct parked **at, *p;

	pthread_mutex_lock(&s->lock);
	for (at = &s->parked; *at && (*at)->req != req; at = &(*at)->next)
		;
	p = *at;
	if (p)
		*at = p->next;
	pthread_mutex_unlock(&s->lock);
	if (!p)
		return;
	fuse_reply_err(req, EINTR);
	free(p);
}

/* A resent read takes again what the lost answer had. */
static void begin_read(struct open_file *file, uint64_t unique)
{
	if (unique & UNIQUE_RESENT && file->read_by == (unique & ~UNIQUE_RESENT)) {
		file->at = file->before;
		return;
	}
	file->before = file->at;
	file->read_by = unique & ~UNIQUE_RESENT;
}

void stream_read(struct stream *s, struct fuse_req *req, struct open_file *file, uint64_t unique,
		 size_t size, bool nonblock)
{
	struct parked *p = nonblock ? NULL : malloc(sizeof(*p));
	bool answered, parks = false;

	/* Before it is parked: others may answer and free it as soon as they see it. */
	if (p)
		fuse_req_interrupt_func(req, interrupted, s);
	pthread_mutex_lock(&s->lock);
	begin_read(file, unique);
	answered = answer(s, req, file, size);
	if (!answered && p && !fuse_req_interrupted(req)) {
		*p = (struct parked){ .next = s->parked, .req = req, .file = file, .size = size };
		s->parked = p;
		parks = true;
	}
	pthread_mutex_unlock(&s->lock);
	if (answered || !parks) {
		if (!answered)
			fuse_reply_err(req, nonblock ? EAGAIN : p ? EINTR : ENOMEM);
		free(p);
	}
}

bool stream_ready(struct stream *s, const struct open_file *file)
{
	bool ready;

	pthread_mutex_lock(&s->lock);
	ready = file->at.special || file->at.pos != ring_head(s->ring);
	pthread_mutex_unlock(&s->lock);
	return ready;
}

void stream_wake(struct stream *s, uint64_t generation)
{
	struct parked **at, *p;

	pthread_mutex_lock(&s->lock);
	s->generation = generation;
	for (at = &s->parked; (p = *at);) {
		if (!answer(s, p->req, p->file, p->size)) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		free(p);
	}
	pthread_mutex_unlock(&s->lock);
}
