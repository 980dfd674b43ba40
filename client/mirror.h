/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A copy of the tree. One thread follows the mount into the table, one or several write to it, and
 * one makes it probe who holds which device, which may take long. The mount is never accessed in a
 * turn of the loop (loop.h), so a tree that does not answer delays only its own news. */
#ifndef CLIENT_MIRROR_H
#define CLIENT_MIRROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "pcidevfs/err.h"

enum { WRITERS_MAX = 8 };

struct loop;
struct mirror;

/* What a client keeps of the tree. The mirror's threads call all functions with the lock held. */
struct mirror_table {
	const char *name; /* the client's name in `health` */
	size_t size;	  /* of the table, which starts zeroed */
	unsigned int writers; /* jobs that may run at a time, WRITERS_MAX at most; 0: one */
	/* An inventory begins: devices not taken until settle() are gone. */
	void (*begin)(void *table);
	/* A device is there, described by pairs (pair.h), which are overwritten. Not 0: it cannot
	 * be kept and is dropped. */
	int (*take)(void *table, const char *id, char *pairs);
	void (*drop)(void *table, const char *id);
	void (*settle)(void *table);
	/* Writes the path, below the tree, of the i-th file whose reading makes the daemon probe
	 * holders. False: there are no more. NULL: never asked to probe. */
	bool (*holders)(const void *table, size_t i, char *path, size_t size);
	/* Did something after `since` make the lines of a job out of date? NULL: never. */
	bool (*overtaken)(const void *table, const char *lines, uint64_t since);
	void (*clear)(void *table); /* frees what it holds */
};

/* One transaction for ctl, and the callback for its verdict. */
struct job {
	char *lines; /* NULL: nothing is written */
	/* In the thread that would write the lines, before it does: may read files of the tree at
	 * this path, and set lines. Not 0, with err: nothing is written. NULL: not needed. */
	int (*prepare)(struct job *job, const char *tree, struct err *err);
	bool look; /* run it only after a probe of holders that starts from now on */
	/* Time in ms, 0: never. The job is dropped (ECANCELED) if overtaken() says so. */
	uint64_t since;
	bool urgent; /* somebody waits for it: it runs before other jobs */
	/* Called in a turn of the loop; must free the job. */
	void (*done)(struct job *job, const struct err *err);
	void *ctx;
	struct err err; /* code 0: done */
	STAILQ_ENTRY(job) next;
};

/* news() is called in a turn of the loop when the table changed; that the tree is lost is logged.
 * Returns 0, -ENOMEM, or -errno if no thread can be started. */
int mirror_new(const char *path, struct loop *loop, const struct mirror_table *ops,
	       void (*news)(void *ctx), void *ctx, struct mirror **ret, struct err *err);
/* Leaves the turn while its threads end. */
void mirror_free(struct mirror *t);

/* What stands about this client in `health`; "" for nothing. */
void mirror_say(struct mirror *t, const char *sentence);

/* Access to the table, between lock and unlock. */
void *mirror_lock(struct mirror *t);
void mirror_unlock(struct mirror *t);
/* Returns since when the tree is lost (ms; 0: it is there), and why. Call it with the lock held. */
uint64_t mirror_lost(const struct mirror *t, const char **ret_why);
/* Is it a mount whose daemon has gone for good (watch.h)? */
bool mirror_orphaned(struct mirror *t);
/* Has an inventory ever been read? */
bool mirror_known(struct mirror *t);

/* Begins jobs in order of submission, urgent ones first. The mirror owns the job until done(). */
void mirror_commit(struct mirror *t, struct job *job);
/* Makes the tree probe holders soon; the result comes as ordinary news. Requests that come
 * meanwhile share one further probe. */
void mirror_look(struct mirror *t);

#endif
