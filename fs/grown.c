// SPDX-License-Identifier: GPL-2.0-or-later
#define FUSE_USE_VERSION 312
#include "grown.h"

#include <errno.h>
#include <fuse_lowlevel.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "ring.h"

#define READ_MAX ((size_t)1 << 20)
#define NS_PER_S 1000000000u

/* pos: where offset 0 of the file is in the ring, for this open file. seq: the offset in the ring up to which it was read
 * when that was the end. */
struct cursor grown_start(struct ring *r)
{
	return (struct cursor){ .pos = ring_span(r).tail };
}

/* Where a read begins in the ring. What it has not read is dropped: who follows goes on with the next line that is left;
 * of others the parts would not fit together. */
static int place(struct ring *r, struct cursor *at, off_t off, uint64_t *ret)
{
	const struct ring_span span = ring_span(r);

	if (!off)
		at->pos = span.tail;
	if (at->pos + (uint64_t)off < span.tail) {
		if (at->pos + (uint64_t)off != at->seq)
			return -ESTALE;
		at->pos = span.tail - (uint64_t)off; /* below 0, as a number that comes round again */
	}
	*ret = at->pos + (uint64_t)off;
	return 0;
}

/* How much was read; nothing beyond the end. */
static long take(struct ring *r, struct cursor *at, off_t off, char *buf, size_t size)
{
	uint64_t from, tail, seq, head = ring_span(r).head;
	int error = place(r, at, off, &from);
	long n;

	if (error || from > head)
		return error;
	n = ring_read(r, from, buf, size, &tail, &seq);
	if (n < 0)
		return -ESTALE; /* dropped just now */
	if (from + (uint64_t)n >= head)
		at->seq = from + (uint64_t)n;
	return n;
}

void grown_read(struct ring *r, struct fuse_req *req, struct open_file *file, size_t size, off_t off)
{
	struct cursor whole = grown_start(r);
	char *buf;
	long n;

	size = size < READ_MAX ? size : READ_MAX;
	buf = malloc(size);
	n = buf ? take(r, file ? &file->at : &whole, off, buf, size) : -ENOMEM;
	if (n < 0)
		fuse_reply_err(req, (int)-n);
	else
		fuse_reply_buf(req, buf, (size_t)n);
	free(buf);
}

void grown_stat(struct ring *r, struct stat *st)
{
	const struct ring_span span = ring_span(r);
	const struct timespec at = { (time_t)(span.written / NS_PER_S), (long)(span.written % NS_PER_S) };

	st->st_size = (off_t)(span.head - span.tail);
	if (at.tv_sec > st->st_mtim.tv_sec ||
	    (at.tv_sec == st->st_mtim.tv_sec && at.tv_nsec > st->st_mtim.tv_nsec))
		st->st_mtim = st->st_ctim = at;
}
