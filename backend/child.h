/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program that a helper runs: the helper waits for its end, or kills it. */
#ifndef BACKEND_CHILD_H
#define BACKEND_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct err;

enum { CHILD_TAIL = 480 };

struct child {
	const char *name; /* for sentences */
	bool alone; /* in a pid namespace of its own: at its end the kernel kills all it started */
	/* In the new process; out: where it writes what sentences about its end quote. It must not
	 * return. */
	void (*become)(const void *ctx, int out);
	const void *ctx;
	/* By child_run(): */
	int status; /* as wait(2) tells */
	unsigned int ms;
	bool late; /* it was killed after ms */
	bool cut;  /* there was more before the tail */
	size_t n;
	char tail[CHILD_TAIL + 1];
};

/* Runs it and waits for its end. Returns 0, or -errno if it cannot be started. */
int child_run(struct child *c, unsigned int ms, struct err *err);
/* Returns 0 if it ended with status 0, else -ETIMEDOUT or -EIO and says how it ended, with the last
 * whole lines of its tail. */
int child_tell(struct child *c, struct err *err);
/* Those lines, joined; "" for none. */
const char *child_said(struct child *c);

#endif
