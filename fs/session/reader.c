// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads requests: one by one while a single user asks, all that have come if many ask. */
#define _GNU_SOURCE
#include "reader.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/fuse.h>
#include <linux/sched.h>
#include <linux/sched/types.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "crowd.h"
#include "pcidevfs/confine.h"
#include "pcidevfs/err.h"

enum {
	HEADERS = 8192, /* extra room that the kernel requires */
	LOOK_EACH = 8,	/* requests between two checks for waiting ones */
	SLICE_NS = 200000,
};

bool reader_open(struct reader *r, int fd, const _Atomic gid_t *group, size_t max_write)
{
	/* MAP_POPULATE: if the process is killed while the kernel copies a request into a missing
	 * page, the request would be lost. */
	void *buf = mmap(NULL, max_write + HEADERS, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	*r = (struct reader){ .fd = fd, .group = group, .size = max_write + HEADERS };
	r->buf = buf == MAP_FAILED ? NULL : buf;
	return r->buf;
}

void reader_close(struct reader *r)
{
	if (r->buf)
		munmap(r->buf, r->size);
	free(r->crowd);
}

/* The holder shares the flags. It never reads, but changes O_ASYNC at any time, which F_SETFL would
 * take back. */
static void set_blocking(struct reader *r, bool blocking)
{
	int on = !blocking;

	ioctl(r->fd, FIONBIO, &on);
}

/* Answers soon after a thread that uses the CPU for long has begun to (since Linux 6.12). A higher
 * priority would run before others: nobody waits for the close of a file, so it would take the CPU
 * from the closer. Threads that run already keep the scheduler's slices. */
static void short_slices(void)
{
	struct sched_attr attr = { 0 };

	if (syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0) ||
	    attr.sched_policy != SCHED_NORMAL)
		return;
	attr.sched_runtime = SLICE_NS;
	(void)!syscall(SYS_sched_setattr, 0, &attr, 0);
}

void reader_begin(struct reader *r)
{
	short_slices();
	set_blocking(r, true);
}

static void end_crowd(struct reader *r)
{
	if (r->crowded)
		set_blocking(r, true);
	r->crowded = false;
}

/* A lone user's next request follows the last answer. If one waits already, there are more
 * users. */
static void look_for_crowd(struct reader *r)
{
	struct pollfd p = { r->fd, POLLIN, 0 };

	if (++r->since_look < LOOK_EACH)
		return;
	r->since_look = 0;
	if (poll(&p, 1, 0) <= 0)
		return;
	if (!r->crowd)
		r->crowd = malloc(sizeof(*r->crowd));
	if (!r->crowd)
		return;
	crowd_init(r->crowd);
	r->crowded = true;
	set_blocking(r, false);
}

static int read_one(struct reader *r, size_t *ret_len, struct err *err)
{
	ssize_t n = read(r->fd, r->buf, r->size);

	*ret_len = n < 0 ? 0 : (size_t)n;
	if (n >= (ssize_t)sizeof(struct fuse_in_header))
		return READ_ONE;
	if (n >= 0)
		return fail(err, EPROTO, "the kernel sent a request of %zd bytes", n);
	if (errno == ENODEV)
		return READ_GONE;
	/* ENOENT: the caller was interrupted before we read the request. */
	if (errno == EINTR || errno == ENOENT)
		return READ_AGAIN;
	return errno == EAGAIN ? READ_NONE
			       : fail(err, errno, "requests cannot be read: %s", strerror(errno));
}

/* Being uid 0 is not being root. A namespace of users is looked at only where a right depends on
 * it. Without a pid it is the kernel's own, as the end of a file or an interrupt. */
static bool is_reserved(const struct reader *r, const struct fuse_in_header *in)
{
	gid_t group = atomic_load(r->group);

	return (group && in->gid == group) ||
	       (!in->uid && (!in->pid || confine_effective((pid_t)in->pid) &
						 (CAP(SYS_ADMIN) | CAP(DAC_OVERRIDE))));
}

/* READ_ONE: the request does not fit among those that wait. */
static int gather(struct reader *r, size_t *ret_len, struct err *err)
{
	const struct fuse_in_header *in = (const void *)r->buf;

	while (r->crowd->n < CROWD_MAX) {
		int rc = read_one(r, ret_len, err);

		if (rc == READ_ONE && crowd_put(r->crowd, is_reserved(r, in), r->buf, *ret_len))
			continue;
		if (rc != READ_AGAIN)
			return rc;
	}
	return READ_NONE;
}

int reader_next(struct reader *r, bool may_gather, size_t *ret_len, struct err *err)
{
	int rc;

	if (!r->crowded && may_gather)
		look_for_crowd(r);
	if (!r->crowded)
		return read_one(r, ret_len, err);
	rc = gather(r, ret_len, err);
	if (rc != READ_NONE)
		return rc;
	*ret_len = crowd_take(r->crowd, r->buf);
	if (*ret_len)
		return READ_ONE;
	end_crowd(r);
	return READ_NONE;
}

bool reader_rest(struct reader *r, size_t *ret_len)
{
	*ret_len = r->crowded ? crowd_take(r->crowd, r->buf) : 0;
	if (!*ret_len)
		end_crowd(r);
	return *ret_len;
}
