/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The holder's side of --replace: a program that is to go on is asked first, by running it with
 * --can-adopt; only when it agrees is the old serving process ended.
 */
#ifndef FS_TAKEOVER_H
#define FS_TAKEOVER_H

#include <stdint.h>
#include <sys/types.h>

#include "handoff.h"
#include "options.h"

enum takeover_state {
	TAKEOVER_NONE,
	TAKEOVER_CALLED,  /* somebody connected; the offer has not come yet */
	TAKEOVER_ASKING,  /* the program runs and considers */
	TAKEOVER_AGREED,  /* the serving process is being ended, then takeover_exec() */
	TAKEOVER_STARTED, /* we are the new program; the caller waits for its first success */
};

struct takeover {
	enum takeover_state state;
	int conn; /* -1: the caller is gone; what was agreed goes on */
	int exe;  /* the program */
	int said; /* what it prints while it considers */
	pid_t pid;
	int pidfd;
	uint64_t until; /* now_ms(): whoever has not answered by then is refused */
	struct offer offer;
	struct options o; /* what the program will run with; borrows from offer */
};

/* What a holder leaves to the next one, besides its options and its process id. */
struct estate {
	/* former: the program before, to go back to; -1 none. */
	int fuse, stash, listen, conn, former;
	uint32_t generation, restarts;
	unsigned int major, minor;
};

extern const struct region_head estate_layout; /* of what takeover_exec() hands on */

void takeover_init(struct takeover *t);
void takeover_clear(struct takeover *t);
/* A caller has connected; the one before, if any, is still being served: the new one is told so. */
void takeover_call(struct takeover *t, int conn);
/* The caller's offer is there: starts asking its program. */
void takeover_ask(struct takeover *t, const struct options *o, const char *mountpoint);
/* The program asked has ended. */
void takeover_verdict(struct takeover *t);
/* Until when it waits for caller or program, now_ms(); UINT64_MAX: for neither. */
uint64_t takeover_until(const struct takeover *t);
void takeover_expire(struct takeover *t); /* past that */
/* The caller reads how it went, and that was it. */
void takeover_done(struct takeover *t, const char *path);
void takeover_refuse(struct takeover *t, const char *text);

/* Becomes program exe with e; returns -errno when that fails, with e's descriptors as they were. */
int takeover_exec(int exe, const struct estate *e, const struct options *o, const char *mountpoint);
/* Reads what takeover_exec() wrote; -EINVAL when it is not that. */
int takeover_parse(const char *text, struct estate *ret);

#endif
