/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether functions that a guest may use still answer, of which the kernel tells nothing: it
 * remembers the ids that they had. A helper reads a word of their config space every other second,
 * while something is claimed.
 */
#ifndef PCIDEVFS_BACKEND_LIVENESS_H
#define PCIDEVFS_BACKEND_LIVENESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pcidevfs/facts.h"
#include "pcidevfs/key.h"
#include "pcidevfs/step.h"

struct backend;
struct out;
struct sysfs;

/* A function that is looked at. */
struct liveness_row {
	struct key key;
	uint64_t birth;
	enum liveness was, saw; /* what the model has, and this look */
	bool busy;	     /* an operation may be resetting it */
	enum liveness last;     /* of the bad ones */
	uint8_t bad, good; /* looks of that sort until now, without one of the other between them */
	uint8_t need;	   /* good ones that make it well again */
	struct helper_id hung;
};

struct probes {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool kick, stop; /* lock; kick: it may be that something is to be looked at now */
	struct liveness_row *rows;
	size_t n;
};

/* Pure: what is to be told after this look, with its counts in row. Two looks in a row are a fault,
 * five where the kernel still waits, since a reset may take so long; three make it well again, and
 * twice as many after each fault, up to 48, until it was well for five minutes. */
enum liveness liveness_step(struct liveness_row *row);

/* In a helper: words has ids (key.h) with blanks between them, and is cut up; a '!' before one says
 * that it may be woken. Appends a letter for each: 'a' it answers, 'f' all bits of the answer are
 * set, '-' nothing was learned, as of what is not a PCI function. 0 or -EINVAL. */
int liveness_scan(const struct sysfs *s, char *words, struct out *ret);

void liveness_open(struct backend *b);
/* Once nothing can go wrong any more: the model keeps its observers. Before it tells them
 * anything. */
void liveness_hear(struct backend *b);
void liveness_free(struct backend *b);
/* The thread; arg is the backend. Ends after liveness_stop(), when the helpers have answered. */
void *liveness_main(void *arg);
void liveness_stop(struct backend *b);

#endif
