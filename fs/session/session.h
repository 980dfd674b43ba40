/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One process's share of a FUSE connection that outlives it.
 *
 * The kernel sends INIT once for a connection. It is stored and replayed to libfuse in every later
 * process, over /dev/null, so that the kernel sees no second answer. Requests that a former process
 * had read are requested again (NOTIFY_RESEND, Linux 6.9) or, if the kernel cannot do that,
 * answered EIO from a record of those in flight.
 */
#ifndef FS_SESSION_H
#define FS_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct fuse_lowlevel_ops;
struct fuse_session;
struct out;
struct region_head;
struct session;
struct stash;

/* The result of the first INIT is final: a program with other abilities or another layout has
 * another number and cannot take over. */
extern const struct region_head session_layout;

/* The work of a thread that nobody else can do: a number for each piece, 0: none; and how many
 * operations run. */
enum session_hand { HAND_REQUEST, HAND_NOTIFIER, HAND_WORKER, HAND_COMMANDS, HAND_OPERATIONS,
		    HANDS };

struct session_conf {
	int fuse_fd; /* owned by the caller */
	struct stash *stash;
	const struct fuse_lowlevel_ops *ops; /* the session sets init and destroy itself */
	void *userdata;
	/* Asked before each request is read. A signal makes it be asked while none comes. */
	bool (*leave)(void *ctx);
	void *ctx;
	const _Atomic gid_t *group; /* pcidevfs, 0: there is none */
	const char *mountpoint;
};

int session_new(const struct session_conf *conf, struct session **ret, struct err *err);
void session_free(struct session *s);
struct fuse_session *session_fuse(struct session *s);

/* Brings libfuse to the state of the former process, which was killed or ended. Call it before any
 * thread writes to the connection. */
int session_adopt(struct session *s, bool killed, struct err *err);
/* Settles the former process's unanswered requests. Call it before session_loop(), if not the
 * first. */
void session_recover(struct session *s);
/* Serves until leave() (0), or until the connection is gone (1). */
int session_loop(struct session *s, struct err *err);
/* Does the kernel send requests that were read and not answered to the next process? */
bool session_resends(const struct session *s);

/* The unique of this thread's request, as from the kernel; 0 in other threads. */
uint64_t session_unique(void);
/* Where the thread stores its present piece of work. */
_Atomic uint64_t *session_hand(struct session *s, enum session_hand hand);
/* For the holder: reads those of the serving process. */
void session_in_hand(int stash, uint64_t ret[HANDS]);
/* A number that no other connection to the kernel has. */
uint64_t session_connection(const struct session *s);
/* "kernel_resend=yes ..." */
void session_health(struct session *s, struct out *o);

#endif
