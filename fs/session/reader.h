/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the next request comes from: the connection, or, while many ask at once, those that were
 * read and wait. */
#ifndef PCIDEVFS_FS_READER_H
#define PCIDEVFS_FS_READER_H

#include <stdbool.h>
#include <stddef.h>

struct crowd;
struct err;

struct reader {
	int fd;		    /* the caller's */
	unsigned char *buf; /* the request that was read last */
	size_t size;
	struct crowd *crowd; /* NULL as long as there never was one */
	bool crowded;
	unsigned int since_look;
};

enum { READ_ONE, READ_AGAIN, READ_NONE, READ_GONE };

/* For writes of max_write bytes at most. False: no memory. */
bool reader_open(struct reader *r, int fd, size_t max_write);
void reader_close(struct reader *r);
/* Before the first one: what a former process left is undone. */
void reader_begin(struct reader *r);
/* READ_ONE: a request of *ret_len bytes is in buf; READ_AGAIN, READ_NONE: none; READ_GONE: no more;
 * -errno. may_gather: what was read and not answered comes again when this process dies. */
int reader_next(struct reader *r, bool may_gather, size_t *ret_len, struct err *err);
/* What was read already, one after the other; false: no more, and nothing waits for us. */
bool reader_rest(struct reader *r, size_t *ret_len);

#endif
