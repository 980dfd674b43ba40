/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The source of the next request: the connection or, while many ask, those already read. */
#ifndef PCIDEVFS_FS_READER_H
#define PCIDEVFS_FS_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct crowd;
struct err;

struct reader {
	int fd;		    /* owned by the caller */
	const _Atomic gid_t *group; /* whose requests take turns with others', as root's do */
	unsigned char *buf; /* the last request that was read */
	size_t size;
	struct crowd *crowd; /* NULL if it was never needed */
	bool crowded;
	unsigned int since_look;
};

enum { READ_ONE, READ_AGAIN, READ_NONE, READ_GONE };

/* For writes of at most max_write bytes. False: no memory. */
bool reader_open(struct reader *r, int fd, const _Atomic gid_t *group, size_t max_write);
void reader_close(struct reader *r);
/* Call it before the first request, in the thread that reads: resets what a former process left,
 * and gives the thread short slices. */
void reader_begin(struct reader *r);
/* READ_ONE: a request of *ret_len bytes is in buf; READ_AGAIN, READ_NONE: none; READ_GONE: the
 * connection has ended; else -errno. may_gather: the kernel resends unanswered requests if we
 * die. */
int reader_next(struct reader *r, bool may_gather, size_t *ret_len, struct err *err);
/* Returns requests that were already read, one by one; false: none is left to answer. */
bool reader_rest(struct reader *r, size_t *ret_len);

#endif
