/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What kubelet lists of its pods, against the table: what is to be written into allocated_to. Pure
 * but for the table, which learns from it who kubelet says has what.
 */
#ifndef PLUGIN_LISTING_H
#define PLUGIN_LISTING_H

#include "pcidevfs/util.h"

#include "devices.h"

enum { ALLOCATED_MAX = 382 }; /* namespace/pod/container: 63, 253 and 63 characters at most */

/* What is to be written of one pod: all of it or nothing, since a group is one pod's. */
struct batch {
	struct batch *next;
	struct out clear, set; /* lines of ctl; from one pod to another it goes through none */
	/* looked at before it is free: what holds it must stand in the way of the next pod */
	bool ends;
	char pod[ALLOCATED_MAX];
};

struct listing {
	uint64_t now, asked;  /* ms: when kubelet was asked */
	uint64_t pending_ms;  /* so long after Allocate kubelet may know nothing of it yet */
	unsigned int kubelet; /* which one that is, from 1 */
	/* A kubelet that never listed a pod may not know it yet: has it nothing else that says that
	 * it runs? */
	bool (*is_forgotten)(void *ctx, const char *device_id);
	void *ctx;

	struct batch *batches;
	/* what is said of devices, by their names alone: nothing is to be written for that */
	bool changed;
	size_t odd; /* devices whose pod has a name that none can have: they are left alone */

	struct V1__ListPodResourcesResponse *list;
	struct listed *rows; /* of it, sorted by id */
	size_t n, cap;
};

/* Allocate gives it to a pod (ms; GIVEN_RUNNING and up: is about to): no list of before tells of
 * that, nor does it count that kubelet has listed the pod before. */
void listing_given(struct dev *d, uint64_t at);

/* -EINVAL: not such a message; -ENOMEM. The table is not needed, so that others may have it meanwhile. */
int listing_read(struct listing *l, const uint8_t *msg, size_t len);
void listing_settle(struct listing *l, struct devices *t);
/* With the batches that it has; a text that was taken out of one is its taker's. */
void listing_free(struct listing *l);

#endif
