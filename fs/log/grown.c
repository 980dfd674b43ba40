// SPDX-License-Identifier: GPL-2.0-or-later
#define FUSE_USE_VERSION 312
#include "grown.h"

#include <errno.h>
#include <fuse_lowlevel.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fs/internal.h"

#define READ_MAX ((size_t)1 << 20)

#define IN_A_LINE UINT64_MAX

/* pos: the file's offset 0 in the ring, for this open file. seq: offset in the ring up to which it
 * was read, if that is the end of a line; 0: not read since offset 0. */
struct cursor grown_start(struct ring *r)
{
	return (struct cursor){ .pos = ring_span(r).tail };
}

/* Is the reader's place gone? It is before the tail, or where other lines lie since it began. */
static bool is_lost(const struct ring_span *span, const struct cursor *at, uint64_t place)
{
	return place < span->tail || (place < span->moved && (int64_t)(at->pos - span->tail) < 0);
}

/* Finds where a read begins in the ring. Lines dropped before they were read are skipped (seq=
 * shows that). A reader in the middle of a dropped line gets ESTALE. tail -f reads as much as the
 * file has grown, so it goes on at its offset in the present file, with the next whole line. */
static int place(struct ring *r, struct cursor *at, off_t off, uint64_t *ret, bool *ret_skip)
{
	const struct ring_span span = ring_span(r);

	*ret_skip = false;
	if (!off)
		*at = (struct cursor){ .pos = span.tail };
	if (is_lost(&span, at, at->pos + (uint64_t)off)) {
		if (at->seq && at->pos + (uint64_t)off != at->seq)
			return -ESTALE;
		*ret_skip = span.tail + (uint64_t)off < span.head;
		/* The unsigned value may wrap below 0. */
		at->pos = *ret_skip ? span.tail : span.tail - (uint64_t)off;
	}
	*ret = at->pos + (uint64_t)off;
	return 0;
}

/* Drops the rest of a line whose beginning was not read. */
static size_t skip_part(struct cursor *at, uint64_t *from, char *buf, size_t n)
{
	const char *end = memchr(buf, '\n', n);
	size_t part = end ? (size_t)(end + 1 - buf) : 0;

	memmove(buf, buf + part, n - part);
	at->pos += part;
	*from += part;
	return n - part;
}

/* Returns how much was read; 0 beyond the end. */
static long take(struct ring *r, struct cursor *at, off_t off, char *buf, size_t size)
{
	const struct cursor was = *at;
	uint64_t from, tail, seq;
	bool skip;
	long n = -1;

	while (n < 0) {
		int error;

		*at = was; /* else a place in the middle of a line counts as one that was read */
		error = place(r, at, off, &from, &skip);
		if (error || from > ring_span(r).head)
			return error;
		n = ring_read(r, from, buf, size, &tail, &seq); /* below 0: just dropped */
	}
	if (skip)
		n = (long)skip_part(at, &from, buf, (size_t)n);
	if (n)
		at->seq = buf[n - 1] == '\n' ? from + (uint64_t)n : IN_A_LINE;
	return n;
}

void grown_read(struct ring *r, struct fuse_req *req, struct open_file *file, size_t size,
		off_t off)
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
	const struct timespec at = time_of_ns(span.written);

	st->st_size = (off_t)(span.head - span.tail);
	if (at.tv_sec > st->st_mtim.tv_sec ||
	    (at.tv_sec == st->st_mtim.tv_sec && at.tv_nsec > st->st_mtim.tv_nsec))
		st->st_mtim = st->st_ctim = at;
}
