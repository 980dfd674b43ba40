/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The claimed devices as the tree tells them, and what follows from them for kubelet. Pure but for
 * the table itself: no clock, no file, no socket.
 */
#ifndef PLUGIN_DEVICES_H
#define PLUGIN_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As client/line.h has it: strings are never NULL, and "" where the tree says none. */
struct dev {
	const char *id; /* as in inventory: "0000:05:00.0", "mdev/<uuid>", "usb/2-1" */
	const char *resource, *claim, *state, *reason, *nodes, *allocated;
	const char *kept;    /* the nodes when last a pod was given it or a member of its group */
	const char *as;	     /* its name when last a pod was given it, while that may count */
	int numa;	     /* -1: none */
	int group;	     /* -1: none */
	bool here;	     /* was told since the inventory began */
	bool gone;	     /* is not there any more; its pod has what it had, group and all */
	bool announced;	     /* was once found bound and ready: kubelet may know it */
	uint64_t good_at;    /* ms: not healthy before, since it was not a moment ago */
	uint64_t pending_at; /* ms: since when it is pending; 0: it is not */
	/* ms: when Allocate of it was last answered; GIVEN_RUNNING and up: one runs */
	uint64_t given_at;
	/* The same of the Allocate that last ended the name of a pod which stood there. */
	uint64_t ended_by;
	/* By which kubelet (pods.c counts them) its pod was last listed; 0: none. */
	unsigned int seen;
	/* its own; the resource by which kubelet has its pod have it; NULL: it has not said */
	char *given;
	bool peer_taken; /* another function of its group is with a pod */
	bool told_sick;	 /* the log has it so, or that it is withheld */
	uint64_t freed;	 /* the larger, the later a pod gave it back; 0: none did while we looked */
};

struct devices {
	struct dev **v;	       /* sorted by id */
	struct dev **by_group; /* sorted by group, then id */
	size_t n, cap;
	uint64_t freed; /* how many were given back */
	/* Counts up when a device comes or goes, or has another name, group or nodes. */
	uint64_t shape;
};

/* From one line of inventory or events; pairs are overwritten. A device that nobody claims is forgotten.
 * -EINVAL: not a line of the tree's format; -ENOMEM. The table stays as it was then. */
int devices_take(struct devices *t, const char *id, char *pairs);
/* It is gone. What a pod of kubelet's has of it stays in the table until devices_forget(). */
void devices_drop(struct devices *t, const char *id);
void devices_forget(struct devices *t, const char *id);
/* Around an inventory: what was not told in between is not there. */
void devices_begin(struct devices *t);
void devices_settle(struct devices *t);
void devices_free(struct devices *t);
struct dev *devices_find(const struct devices *t, const char *id);

/* The members of its IOMMU group, it among them; it alone if it has none. Of the table, until that
 * changes. */
struct dev *const *devices_group(const struct devices *t, const struct dev *d, size_t *ret_n);
/* Those that are offered, sorted by resource, then id; the list is the caller's. NULL: no
 * memory. */
struct dev **devices_offered(const struct devices *t, size_t *ret_n);

/* The id kubelet knows it by, which is also what KubeVirt takes from the variable: the address, or
 * the UUID. */
const char *dev_kubelet_id(const struct dev *d);
/* And back; `resource` must be its, or NULL. */
struct dev *devices_of_kubelet(const struct devices *t, const char *resource,
			       const char *kubelet_id);

/* The name it is offered by: resource_name, but until kubelet has said that the pod that it was
 * last given to is over, the one that it had then. kubelet counts it there, and asks there before
 * each start of a container; after a reboot, or an end of the daemon, before anybody else knows of
 * the pod. */
const char *dev_resource(const struct dev *d);
/* kubelet lists it so. Another name than ours may be that of another plugin. Returns whether its
 * health may be another now. */
bool dev_given(struct dev *d, const char *resource);
/* With those of its group: given now, as the tree will tell. */
void dev_kept(const struct devices *t, struct dev *d);

/* Lines for ctl that set allocated_to: is one of a device that was given to a pod since they were
 * thought of (ms)? */
bool devices_overtaken(const struct devices *t, const char *lines, uint64_t since);

/* Its claim is stored, and there is nothing yet that a pod could have of it. */
bool dev_comes(const struct dev *d);
/* NULL: it is offered. Else why kubelet does not hear of it, however well it is. */
const char *dev_withheld(const struct dev *d);
bool dev_offered(const struct dev *d);
/* NULL: healthy. Else why it cannot be given to a pod; in `buf` if need be. */
const char *dev_sick(const struct devices *t, const struct dev *d, uint64_t now, char *buf,
		     size_t size);
/* Holds it a pod, as far as is known; "pending" counts. */
bool dev_allocated(const struct dev *d);
/* Is its pod known by name? */
bool dev_named(const struct dev *d);
/* Does it keep its group from others? What is pending and was not given by us does: whose it is
 * kubelet will tell. */
bool dev_keeps_group(const struct dev *d);
/* Is one of its group with another pod than it or, as long as kubelet has not told whose it is, may
 * it be? */
bool dev_rivals(const struct dev *d, const struct dev *peer, uint64_t now);
/* Why that stands in its way; returns buf. */
const char *dev_rival_tell(const struct dev *d, const struct dev *rival, char *buf, size_t size);

/* After a change: who was sick stays so until HEALTHY_AFTER_MS of health. Returns when the next one
 * gets well (ms), UINT64_MAX: none waits. */
uint64_t devices_judge(struct devices *t, uint64_t now);

enum { HEALTHY_AFTER_MS = 500 };

/* Beyond all times. */
#define GIVEN_RUNNING (UINT64_MAX / 2)

#endif
