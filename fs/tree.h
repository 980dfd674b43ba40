/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tree: what FUSE asks is answered here from the model, by tables of rows. Knows no backend.
 */
#ifndef FS_TREE_H
#define FS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct engine;
struct err;
struct fuse_lowlevel_ops;
struct fuse_session;
struct intents;
struct model;
struct out;
struct stash;
struct tree;

struct tree_conf {
	struct model *model;
	struct engine *engine;
	struct intents *intents; /* what is kept over reboots; NULL: nothing is */
	struct stash *stash;
	const char *boot_id; /* for inventory; outlives the tree */
	/* Fills `health`: keyed lines, from session and backend; may take its time. May be NULL. */
	void (*health)(void *ctx, struct out *o);
	void *health_ctx;
	/* The unique of the request that this thread handles, as the kernel gave it (bit 63: sent
	 * again). */
	uint64_t (*unique)(void);
	bool no_epochs; /* for tests: as a kernel before 6.16 */
	/* For tests: the log was told the verdict of a command of ctl. May be NULL. */
	void (*told)(void);
};

/* Of the ring of events. */
extern const struct region_head events_layout;
int tree_new(const struct tree_conf *conf, struct tree **ret, struct err *err);
/* Handlers get the tree as userdata. */
const struct fuse_lowlevel_ops *tree_ops(void);
/* Once the session exists and before the first request is served: starts the threads that
 * invalidate and wake. A later generation (first == 0) also drops what the kernel has cached and
 * wakes every poll. */
int tree_start(struct tree *t, struct fuse_session *se, int fuse_fd, int first, struct err *err);
/* Right after that: the thread that makes long texts notes there what it is at, as pool_watch()
 * says. */
void tree_watch(struct tree *t, _Atomic uint64_t *in_hand);
/* Is nothing begun that has operations to come? */
bool tree_idle(struct tree *t);
void tree_stop(struct tree *t);
void tree_free(struct tree *t);
/* For the engine: writes log and last_error, each line once (engine_conf.verdict). */
struct request;
struct actor;
void tree_verdict(void *tree, const struct request *requests, size_t n, const struct actor *who,
		  const struct err *err, uint64_t *place);

/* docs/FILES.md from the tables. */
void tree_print_files(FILE *to);

#endif
