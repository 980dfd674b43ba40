/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looking at devices: from the machine to the model. */
#ifndef BACKEND_LOOK_H
#define BACKEND_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pcidevfs/key.h"

struct backend;
struct view;

/* A function to observe. removed: number of the uevent that removed it in between, 0 none: the
 * function found now is another one, unless it was first seen after that. */
struct touched {
	struct key key;
	uint64_t removed;
	uint64_t heard; /* views_now() at the last event */
	uint64_t heard_ms; /* when the first one was heard; 0: none */
	bool lists; /* read only which vGPU types can be made of it */
	bool unbound; /* its driver was heard to leave it */
};

/* Observes these functions (NULL: all; others are then removed from the model) and the PF of each
 * VF, and publishes. Returns 0; -ETIMEDOUT: a device was left out because it did not answer within
 * patience_ms, or another look has waited that long for it; -ENOMEM. */
int look_at(struct backend *b, const struct touched *v, size_t n, unsigned int patience_ms);
/* Likewise on the calling thread, without a time limit. */
int scan_some(struct backend *b, struct view *view, const struct touched *v, size_t n,
	      unsigned int patience_ms);
int scan_all(struct backend *b, struct view *view, unsigned int patience_ms);
/* For events: far more than the slowest device takes, short for those who wait for another one. */
#define PATIENCE_MS 300
/* For operations, which are refused. */
#define ACT_PATIENCE_MS 5000
/* Members of an IOMMU group, or children: beyond it all devices are looked at. */
#define GROUP_MAX 256

#endif
