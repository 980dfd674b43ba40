/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The only file that blocks: events as they come. Each open file has a place in the ring that
 * outlives us. Reads that wait are parked here; the notifier answers them when lines come. */
#ifndef FS_STREAM_H
#define FS_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cursor;
struct err;
struct open_file;
struct ring;
struct stream;

struct fuse_req;

int stream_new(struct ring *ring, struct stream **ret, struct err *err);
/* Parked reads stay unanswered: the kernel sends them to the next process. */
void stream_free(struct stream *s);

/* Where a new reader starts: a hello line, then new lines. */
struct cursor stream_start(struct stream *s, uint64_t generation);
/* Answers now or later; nonblock: now. unique: of this READ, with its UNIQUE_RESENT bit. */
void stream_read(struct stream *s, struct fuse_req *req, struct open_file *file, uint64_t unique,
		 size_t size, bool nonblock);
bool stream_ready(struct stream *s, const struct open_file *file);
/* Lines were put; generation: of the last one. */
void stream_wake(struct stream *s, uint64_t generation);

#endif
