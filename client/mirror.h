/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mount, kept at arm's length: one thread follows it into the table, one writes to it, one
 * makes it look who holds what, which may take long. Nobody touches it in a turn of the loop
 * (loop.h), so that a tree that does not answer holds up nothing but its own news.
 */
#ifndef CLIENT_MIRROR_H
#define CLIENT_MIRROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pcidevfs/err.h"

struct loop;
struct mirror;

/* What a client keeps of the tree. All are called with the tree's lock held, by threads of the
 * tree. */
struct mirror_table {
	const char *name; /* as which `health` shows who follows */
	size_t size;	  /* of the table, which begins as zeros */
	/* An inventory begins: what is not taken until settle() is not there any more. */
	void (*begin)(void *table);
	/* A device is there, as pairs say (line.h); they are overwritten. Not 0: it cannot be kept,
	 * and is dropped. */
	int (*take)(void *table, const char *id, char *pairs);
	void (*drop)(void *table, const char *id);
	void (*settle)(void *table);
	/* The i-th file below the tree whose reading makes it look who holds what. False: there are
	 * no more. NULL: it is never asked to look. */
	bool (*holders)(const void *table, size_t i, char *path, size_t size);
	/* Is what a job has to say out of date, by what happened after `since`? NULL: never. */
	bool (*overtaken)(const void *table, const char *lines, uint64_t since);
	void (*clear)(void *table); /* frees what it holds */
};

/* One transaction for ctl, and where its verdict goes. */
struct job {
	char *lines;
	bool look; /* only once the tree has looked who holds what, from now on */
	/* Ms, 0: never. Dropped (ECANCELED) once the table calls it overtaken. */
	uint64_t since;
	bool urgent; /* somebody waits for it: before what is not */
	/* In a turn of the loop; frees the job. */
	void (*done)(struct job *job, const struct err *err);
	void *ctx;
	struct err err; /* code 0: done */
	struct job *next;
};

/* -ENOMEM, or why no thread can be had. */
int mirror_new(const char *path, struct loop *loop, const struct mirror_table *ops,
	       struct mirror **ret, struct err *err);
/* Leaves the turn to its threads meanwhile. */
void mirror_free(struct mirror *t);
/* Readable when there is news of the table. */
int mirror_fd(const struct mirror *t);
/* Returns whether the table changed. */
bool mirror_dispatch(struct mirror *t);

/* The table, between lock and unlock. */
void *mirror_lock(struct mirror *t);
void mirror_unlock(struct mirror *t);
/* Since when nothing has been heard of the tree (ms; 0: it is there), and why. With the lock
 * held. */
uint64_t mirror_lost(const struct mirror *t, const char **ret_why);
/* Has an inventory ever been read? */
bool mirror_known(struct mirror *t);

/* In the order in which they come, urgent ones first. The job is the tree's until done(). */
void mirror_commit(struct mirror *t, struct job *job);
/* Soon the tree looks who holds what; what it sees comes as any news. However often that is asked
 * for meanwhile, it looks once more. */
void mirror_look(struct mirror *t);

#endif
