/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where instances of a card fit. Pure. */
#ifndef BACKEND_GPU_MIG_H
#define BACKEND_GPU_MIG_H

#include "pcidevfs/mig.h"

/* What is to be done: instances that are there and not in `keep` are removed, then those of `add`
 * are made, in order. */
struct mig_plan {
	bool keep[MIG_INSTANCES];
	size_t n;
	struct mig_place {
		unsigned int profile; /* index */
		unsigned int start;
	} add[MIG_INSTANCES];
};

/* Keeps each instance that is used, and as many others as can stay. -EBUSY: one that is used is in
 * the way; -ENOSPC: the card never holds all of it; the sentence names what fits of it; -E2BIG: there
 * are more ways than can be tried. */
int mig_fit(const struct mig *m, const struct mig_wanted *w, struct mig_plan *ret, struct err *err);

#endif
