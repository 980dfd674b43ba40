// SPDX-License-Identifier: GPL-2.0-or-later
#include "inflight.h"

#include <errno.h>
#include <linux/fuse.h>
#include <stddef.h>
#include <unistd.h>

/* Uniques grow by 2. The process may die between reading a request and noting it. Requests are read
 * in order, so what it read is a few steps beyond the last noted one, or beyond the last FORGET:
 * those get their unique when they are read, ahead of waiting requests. */
enum { STEP = 2, BEYOND = 64, SEARCHED = 65536 };

void inflight_note(struct inflight *f, const struct fuse_in_header *in)
{
	/* A thread outside our pid namespace has pid 0 here; its node tells such threads apart. */
	uint64_t owner = in->pid ? in->pid : in->nodeid << 32 | 1;
	size_t set = (owner * 0x9e3779b97f4a7c15u) >> 55;
	size_t way = 0;

	/* An interrupt has the unique of its request plus 1. */
	if (in->opcode != FUSE_INTERRUPT && in->unique > f->top)
		f->top = in->unique;
	if (in->opcode == FUSE_FORGET || in->opcode == FUSE_BATCH_FORGET ||
	    in->opcode == FUSE_INTERRUPT)
		return; /* nobody waits for an answer */
	for (size_t i = 0; i < INFLIGHT_WAYS; i++) {
		if (f->slot[set][i].owner == owner) {
			way = i;
			break;
		}
		if (f->slot[set][i].unique < f->slot[set][way].unique)
			way = i;
	}
	f->slot[set][way].unique = in->unique;
	f->slot[set][way].owner = owner;
	f->last = in->unique;
}

bool inflight_fail(int fuse_fd, uint64_t unique)
{
	struct fuse_out_header out = { .len = sizeof(out), .error = -EIO, .unique = unique };

	return unique && write(fuse_fd, &out, sizeof(out)) == (ssize_t)sizeof(out);
}

unsigned int inflight_fail_all(struct inflight *f, int fuse_fd)
{
	unsigned int n = 0;

	for (size_t set = 0; set < INFLIGHT_SETS; set++)
		for (size_t i = 0; i < INFLIGHT_WAYS; i++)
			n += inflight_fail(fuse_fd, f->slot[set][i].unique);
	for (uint64_t i = 1;
	     f->last && i <= SEARCHED && f->last + i * STEP <= f->top + BEYOND * STEP; i++)
		n += inflight_fail(fuse_fd, f->last + i * STEP);
	return n;
}
