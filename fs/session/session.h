/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One serving process's share of a FUSE connection that outlives it.
 *
 * The kernel greets a connection once (INIT). What it said is stored and shown to libfuse again in
 * every later process, over /dev/null, so that the kernel sees no second answer. Requests that the
 * former process had read are asked for again (NOTIFY_RESEND, Linux 6.9) or, where the kernel
 * cannot, answered EIO from a record of what was in job.
 */
#ifndef FS_SESSION_H
#define FS_SESSION_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct fuse_lowlevel_ops;
struct fuse_session;
struct out;
struct region_head;
struct session;
struct stash;

/* What was negotiated at the first INIT cannot be changed: a program that wants other abilities, or
 * lays the record out differently, has another number and cannot take over. */
extern const struct region_head session_layout;

/* What a thread is at that no other thread can do for it: a number that differs from one to the
 * next, 0 none. */
enum session_hand { HAND_REQUEST, HAND_NOTIFIER, HAND_WORKER, HANDS };

struct session_conf {
	int fuse_fd; /* stays the caller's */
	struct stash *stash;
	const struct fuse_lowlevel_ops *ops; /* init and destroy are the session's */
	void *userdata;
	/* Asked before each request is read; a signal makes it be asked while there is none. */
	bool (*leave)(void *ctx);
	/* Called once, when those have their answers who waited while nobody served. */
	void (*calm)(void *ctx);
	void *ctx;
	const char *mountpoint;
	const char *fault; /* for tests, docs/SURVIVAL.md; NULL none */
};

int session_new(const struct session_conf *conf, struct session **ret, struct err *err);
void session_free(struct session *s);
struct fuse_session *session_fuse(struct session *s);

/* Brings libfuse to where the former process was, which was killed, or else ended. Before any
 * thread can write to the connection. */
int session_adopt(struct session *s, bool killed, struct err *err);
/* Settles what the former process left unanswered. Before session_loop(), not in the first. */
void session_recover(struct session *s);
/* Serves until it may leave (0), or the connection is gone (1). */
int session_loop(struct session *s, struct err *err);
/* What was read and not answered the kernel sends to the next process. */
bool session_resends(const struct session *s);

/* Of the request that this thread handles, as the kernel gave it; 0 in other threads. */
uint64_t session_unique(void);
/* Where the thread notes what it is at. */
_Atomic uint64_t *session_hand(struct session *s, enum session_hand hand);
/* For the holder: what the serving process is at. */
void session_in_hand(int stash, uint64_t ret[HANDS]);
/* "kernel_resend=yes ..." */
void session_health(struct session *s, struct out *o);

#endif
