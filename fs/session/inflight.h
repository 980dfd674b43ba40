/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests that may have been read and not answered, for kernels that cannot send them again.
 *
 * A thread waits for one request at a time, so the last request of each thread covers all. Nothing
 * is removed: a second answer to a request is refused by the kernel and harmless.
 */
#ifndef FS_INFLIGHT_H
#define FS_INFLIGHT_H

#include <stdbool.h>
#include <stdint.h>

struct fuse_in_header;

#define INFLIGHT_SETS 512
#define INFLIGHT_WAYS 8

/* In the stash. A slot is one word, so a kill tears nothing. */
struct inflight {
	uint64_t last; /* the last request that was read */
	uint64_t top;  /* the highest unique seen, of any kind */
	struct {
		uint64_t unique; /* 0: free */
		uint64_t owner;
	} slot[INFLIGHT_SETS][INFLIGHT_WAYS];
};

void inflight_note(struct inflight *f, const struct fuse_in_header *in);
/* Answers EIO to a request; false: the kernel does not wait for it. */
bool inflight_fail(int fuse_fd, uint64_t unique);
/* Answers EIO to all of them. Returns how many the kernel was still waiting for. */
unsigned int inflight_fail_all(struct inflight *f, int fuse_fd);

#endif
