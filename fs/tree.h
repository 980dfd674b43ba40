/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tree: answers FUSE requests from the model, by tables of rows. Knows no backend. */
#ifndef FS_TREE_H
#define FS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

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
	struct intents *intents; /* what is stored over reboots; NULL: nothing */
	struct stash *stash;
	const char *boot_id; /* for inventory; must outlive the tree */
	/* Fills `health` with keyed lines of session and backend. May take long. May be NULL. */
	void (*health)(void *ctx, struct out *o);
	/* Likewise a few of them for metrics.prom, by health_metric(). Does not wait. May be
	 * NULL. */
	void (*metrics)(void *ctx, struct out *o);
	void *health_ctx;
	/* The unique of this thread's request, as from the kernel (bit 63: resent). */
	uint64_t (*unique)(void);
};

/* One line of pcidevfs_health. */
void health_metric(struct out *o, const char *key, const char *value);

/* The layout of the ring of events. */
extern const struct region_head events_layout;
int tree_new(const struct tree_conf *conf, struct tree **ret, struct err *err);
/* Handlers get the tree as userdata. */
const struct fuse_lowlevel_ops *tree_ops(void);
/* Call it when the session exists and before the first request is served: starts the threads that
 * invalidate and wake. A later generation (first == 0) also drops kernel caches and wakes all
 * polls. */
int tree_start(struct tree *t, struct fuse_session *se, int fuse_fd, int first, struct err *err);
/* Right after that: in_hand of the threads that make long texts and read the lines of ctl, as for
 * pool_watch(). */
void tree_watch(struct tree *t, _Atomic uint64_t *worker, _Atomic uint64_t *commands);
/* The group pcidevfs, 0: there is none. */
const _Atomic gid_t *tree_group(const struct tree *t);
/* Is there no begun transaction whose operations are still to come? */
bool tree_idle(struct tree *t);
/* For backend_follow_group(): the group pcidevfs has this number from now on; 0: there is none. Any
 * thread, between tree_start() and tree_stop(). */
void tree_set_group(void *tree, gid_t gid);
void tree_stop(struct tree *t);
void tree_free(struct tree *t);
/* For the engine: writes log and last_error, once for each line (engine_conf.verdict). */
struct request;
struct actor;
void tree_verdict(void *tree, const struct request *requests, size_t n, const struct actor *who,
		  const struct err *err, uint64_t *place);

/* docs/FILES.md from the tables. */
void tree_print_files(FILE *to);

#endif
