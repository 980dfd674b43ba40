/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares kubelet's list of pods with the table and makes the lines for allocated_to. Pure, except
 * that the table records who has which device according to kubelet. */
#ifndef PLUGIN_LISTING_H
#define PLUGIN_LISTING_H

#include "pcidevfs/util.h"

#include "devices.h"

enum { ALLOCATED_MAX = 382 }; /* namespace/pod/container: 63, 253 and 63 characters at most */

/* The lines of one pod: all or none, because a whole group belongs to one pod. */
struct batch {
	struct batch *next;
	struct out clear, set; /* lines of ctl; a change of pods goes through "none" */
	/* probe holders before it is free: one that is left must block the next pod */
	bool ends;
	char pod[ALLOCATED_MAX];
};

struct listing {
	uint64_t now, asked;  /* ms; asked: when kubelet was asked */
	uint64_t pending_ms;  /* how long after Allocate kubelet may not know of it yet */
	unsigned int kubelet; /* number of the kubelet that answered, from 1 */
	/* A kubelet that never listed a pod may not know it yet. Returns true if nothing else says
	 * that the pod runs. */
	bool (*is_forgotten)(void *ctx, const char *device_id);
	void *ctx;

	struct batch *batches;
	/* the health of devices may differ, although no line is needed */
	bool changed;
	size_t odd; /* devices whose pod has an impossible name; left alone */

	struct V1__ListPodResourcesResponse *list;
	struct listed *rows; /* of `list`, sorted by id */
	size_t n, cap;
};

/* Allocate gave d to a pod at that time (ms; GIVEN_RUNNING and up: is about to). Lists asked for
 * earlier do not count for it, and neither does it count that kubelet listed the former pod. */
void listing_given(struct dev *d, uint64_t at);

/* Returns 0; -EINVAL: not such a message; -ENOMEM. Call it without the table's lock. */
int listing_read(struct listing *l, const uint8_t *msg, size_t len);
void listing_settle(struct listing *l, struct devices *t);
/* Frees also the batches; a text taken out of a batch belongs to the taker. */
void listing_free(struct listing *l);

#endif
