/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Do the functions that a guest may use still answer? The kernel shows remembered ids only. While
 * something is claimed, a helper reads a word of their config space every other second. */
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

/* A function that is watched. */
struct liveness_row {
	struct key key;
	uint64_t birth;
	enum liveness was, saw; /* what the model has, and what this round saw */
	bool busy;	     /* an operation may be resetting it */
	enum liveness last;     /* the last bad result */
	uint8_t bad, good; /* consecutive rounds with that result */
	uint8_t need;	   /* good rounds that make it good again */
	struct helper_id hung;
};

struct probes {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool kick, stop; /* lock; kick: the set of watched devices may have changed */
	struct liveness_row *rows;
	size_t n;
};

/* Pure: returns what to report after this round, and updates the counts in row. Two bad rounds in a
 * row are a fault; five if the kernel still waits, because a reset may take so long. Three good
 * rounds end a fault; twice as many after each further one, up to 48, until it was good for 5
 * minutes. */
enum liveness liveness_step(struct liveness_row *row);

/* In a helper: words has ids (key.h) separated by blanks, and is overwritten; '!' before an id
 * allows to wake the device. Appends a letter for each: 'a' it answers, 'f' all bits of the answer
 * are set, '-' unknown, for example because it is not a PCI function. Returns 0 or -EINVAL. */
int liveness_scan(const struct sysfs *s, char *words, struct out *ret);

void liveness_open(struct backend *b);
/* Call it once nothing can fail any more, because the model keeps its observers, and before the
 * model notifies them. */
void liveness_hear(struct backend *b);
void liveness_free(struct backend *b);
/* The thread; arg is the backend. Ends after liveness_stop(), when the helpers have answered. */
void *liveness_main(void *arg);
void liveness_stop(struct backend *b);

#endif
