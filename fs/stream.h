/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one file that blocks: the events as they come. Each open file has a place in the ring that
 * outlives us; reads that wait are parked here and answered when lines are put, by the notifier.
 */
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
/* Reads that wait stay unanswered: the kernel sends them to the next process. */
void stream_free(struct stream *s);

/* Where a new reader begins: a hello line, then what comes. */
struct cursor stream_start(struct stream *s, uint64_t generation);
/* Answers now or later. unique: of this READ, with its UNIQUE_RESENT bit. Without nonblock it
 * waits. */
void stream_read(struct stream *s, struct fuse_req *req, struct open_file *file, uint64_t unique,
		 size_t size, bool nonblock);
bool stream_ready(struct stream *s, const struct open_file *file);
/* Lines were put; generation: of the last. */
void stream_wake(struct stream *s, uint64_t generation);

#endif
