/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The holder's side of --replace. The new program is asked first, by running it with --can-adopt;
 * only if it agrees the old serving process is ended. */
#ifndef FS_TAKEOVER_H
#define FS_TAKEOVER_H

#include <stdint.h>
#include <sys/types.h>

#include "handoff.h"
#include "options.h"

enum takeover_state {
	TAKEOVER_NONE,
	TAKEOVER_CALLED,  /* a caller connected; no offer yet */
	TAKEOVER_ASKING,  /* the program runs and checks */
	TAKEOVER_AGREED,  /* the serving process is being ended; takeover_exec() follows */
	TAKEOVER_STARTED, /* we are the new program; the caller waits for its first success */
};

struct takeover {
	enum takeover_state state;
	int conn; /* -1: the caller is gone; what was agreed goes on */
	int exe;  /* the program */
	int said; /* the program's output while it checks */
	pid_t pid;
	int pidfd;
	uint64_t until; /* now_ms(): a caller or program without an answer is refused then */
	struct offer offer;
	struct daemon_options o; /* for the new program; borrows from offer */
};

/* What a holder leaves to the next one, besides its options and its pid. */
struct estate {
	/* former: the previous program, for going back; -1: none. */
	int fuse, stash, listen, conn, former;
	uint32_t generation, restarts;
	unsigned int major, minor;
};

extern const struct region_head estate_layout; /* of the data of takeover_exec() */

extern const struct takeover takeover_none;
void takeover_clear(struct takeover *t);
/* A caller has connected. If another one is still being served, the new one is told so. */
void takeover_call(struct takeover *t, int conn);
/* The caller's offer has come: starts its program with --can-adopt. */
void takeover_ask(struct takeover *t, const struct daemon_options *o, const char *mountpoint);
/* The asked program has ended. */
void takeover_verdict(struct takeover *t);
/* now_ms() until which it waits for caller or program; UINT64_MAX: it does not wait. */
uint64_t takeover_until(const struct takeover *t);
void takeover_expire(struct takeover *t); /* call it after that */
/* Tell the caller the result, and end. */
void takeover_done(struct takeover *t, const char *path);
void takeover_refuse(struct takeover *t, const char *text);

/* Executes program exe with e. Returns only on failure, -errno, with e's descriptors unchanged. */
int takeover_exec(int exe, const struct estate *e, const struct daemon_options *o,
		  const char *mountpoint);
/* Reads the text of takeover_exec(); -EINVAL: invalid. */
int takeover_parse(const char *text, struct estate *ret);

#endif
