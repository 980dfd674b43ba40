/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mount, kept at arm's length: one thread follows it into the table, one writes to it, one makes it look who
 * holds what, which may take long. Nobody touches it in a turn of the loop (loop.h), so that a tree that does not
 * answer holds up nothing but its own news.
 */
#ifndef PLUGIN_TREE_H
#define PLUGIN_TREE_H

#include <stdbool.h>
#include "pcidevfs/err.h"

#include "plugin/kubelet/devices.h"

struct loop;
struct tree;

/* One transaction for ctl, and where its verdict goes. */
struct job {
	char *lines;
	bool look; /* only once the tree has looked who holds what, from now on */
	/* Ms, 0: never. Dropped (ECANCELED) if a device of it was given to a pod after that. */
	uint64_t since;
	bool urgent; /* somebody waits for it: before what is not */
	/* In a turn of the loop; frees the job. */
	void (*done)(struct job *job, const struct err *err);
	void *ctx;
	struct err err; /* code 0: done */
	struct job *next;
};

int tree_new(const char *path, struct loop *loop, struct tree **ret, struct err *err);
/* Leaves the turn to its threads meanwhile. */
void tree_free(struct tree *t);
/* Readable when there is news of the table. */
int tree_fd(const struct tree *t);
/* Returns whether the table changed. */
bool tree_dispatch(struct tree *t);

/* The table, between lock and unlock. */
struct devices *tree_lock(struct tree *t);
void tree_unlock(struct tree *t);
/* Since when nothing has been heard of the tree (ms; 0: it is there), and why. With the lock held. */
uint64_t tree_lost(const struct tree *t, const char **ret_why);
/* Has an inventory ever been read? */
bool tree_known(struct tree *t);

/* In the order in which they come, urgent ones first. The job is the tree's until done(). */
void tree_commit(struct tree *t, struct job *job);
/* Soon the tree looks who holds what; what it sees comes as any news. However often that is asked for meanwhile,
 * it looks once more. */
void tree_look(struct tree *t);

#endif
