/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Do the functions that a guest may use still answer? The kernel shows remembered ids only. While
 * something is claimed, a helper reads a word of their config space every other second. */
#ifndef PCIDEVFS_BACKEND_LIVENESS_H
#define PCIDEVFS_BACKEND_LIVENESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/ask.h"
#include "pcidevfs/facts.h"
#include "pcidevfs/key.h"

/* A function that is watched, and is or was bad. */
struct liveness_row {
	struct key key;
	uint64_t birth;
	enum liveness was, saw; /* what the model has, and what this round saw */
	enum liveness last;	/* the last bad result */
	uint8_t bad, good;	/* consecutive rounds with that result */
	uint8_t need;		/* good rounds that make it good again */
	bool watched;		/* in this round */
};

struct liveness_rows {
	struct liveness_row *v;
	size_t n, cap;
};

/* Pure: returns what to report after this round, and updates the counts in row. Two bad rounds in a
 * row are a fault; five if the kernel still waits, because a reset may take so long. Three good
 * rounds end a fault; twice as many after each further one, up to 48, until it was good for 5
 * minutes. */
enum liveness liveness_step(struct liveness_row *row);

/* A PCI function tells "a": it answers, "f": all bits of the answer are set, "-": unknown. */
ask_tell liveness_tell;

#endif
