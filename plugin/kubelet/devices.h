/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The claimed devices as the tree describes them, and what follows from that for kubelet. Pure
 * except for the table: no clock, no file, no socket. */
#ifndef PLUGIN_DEVICES_H
#define PLUGIN_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct out;

/* First what the tree's line says. A string is never NULL, but "" if the tree says none. */
struct dev {
	const char *id; /* as in inventory: "0000:05:00.0", "mdev/<uuid>", "usb/2-1" */
	const char *resource, *claim, *state, *reason, *nodes, *allocated;
	const char *mdev; /* UUID of the mediated device that the function is; "" */
	const char *kind, *profile_id; /* what it is; the vGPU type that it has, "" */
	const char *kept; /* nodes when a pod last got the device or a member of its group */
	/* its resource when a pod last got it, while that name may still count */
	const char *as;
	int numa;	     /* -1: none */
	int busnum, devnum;  /* of a USB device; -1: none */
	int group;	     /* -1: none */
	char *texts;	     /* owned; what the strings above are in */
	bool here;	     /* seen since the inventory began */
	/* ---- what is known besides: it stays when the line is another one */
	bool gone;	     /* the device vanished; its pod keeps what it had, group included */
	bool announced;	     /* was once bound and ready: kubelet may know it */
	uint64_t good_at;    /* ms; unhealthy before, because it was not healthy a moment ago */
	uint64_t pending_at; /* ms: pending since then; 0: not pending */
	/* ms: when Allocate of it was last answered; GIVEN_RUNNING and up: one runs now */
	uint64_t given_at;
	/* given_at of the Allocate that last cleared a pod's name from it */
	uint64_t ended_by;
	/* number of the kubelet (counted in pods.c) that last listed its pod; 0: none */
	unsigned int seen;
	/* owned; the resource by which the pod has it according to kubelet; NULL: unknown */
	char *given;
	/* the mediated device that it was last, while it is none and has no nodes: kubelet still
	 * knows it by that UUID */
	char last_mdev[40];
	bool by_address; /* it was a vGPU without a UUID last: kubelet knows it by its address */
	bool peer_taken; /* another function of its group is with a pod */
	bool told_sick;	 /* logged as sick or withheld */
	uint64_t freed;	 /* larger: a pod gave it back later; 0: none did so while we ran */
};

struct devices {
	struct dev **v;	       /* sorted by id */
	struct dev **by_group; /* sorted by group, then id */
	size_t n, cap;
	uint64_t freed; /* how many devices were given back */
	/* Incremented if a device comes, goes or gets another name, group or nodes. */
	uint64_t shape;
};

/* Six of these are functions of a mirror's table (client/mirror.h), which is a struct devices. */
/* Takes one line of inventory or events; pairs are overwritten. An unclaimed device is forgotten.
 * Returns 0; -EINVAL: not a line of the tree; -ENOMEM. On failure the table does not change. */
int devices_take(void *table, const char *id, char *pairs);
/* The device is gone. If a pod of kubelet has it, its entry stays until devices_forget(). */
void devices_drop(void *table, const char *id);
void devices_forget(struct devices *t, const char *id);
/* These bracket an inventory: devices not taken in between are gone. */
void devices_begin(void *table);
void devices_settle(void *table);
void devices_free(void *table);
struct dev *devices_find(const struct devices *t, const char *id);

/* The members of d's IOMMU group with d, or d alone. The table's, valid until it changes. */
struct dev *const *devices_group(const struct devices *t, const struct dev *d, size_t *ret_n);
/* The offered devices, sorted by resource, then id; the caller frees the list. NULL: no memory. */
struct dev **devices_offered(const struct devices *t, size_t *ret_n);

/* ---- bus.c: how the buses differ for kubelet, one row each */
struct bus_row {
	const char *prefix;    /* of the id in inventory; kubelet's id lacks it */
	const char *directory; /* of the tree */
	const char *variable;  /* that KubeVirt reads: <variable>_RESOURCE_<NAME> */
	bool by_uuid;	       /* the id for kubelet is the mediated device's (mdev_uuid) */
	/* Prints the device for that variable; false: it cannot be told now. NULL: kubelet's id. */
	bool (*value)(const struct dev *d, struct out *o);
};

/* The i-th row, or NULL. */
const struct bus_row *bus_at(size_t i);
const struct bus_row *bus_of(const struct dev *d);
/* The id that kubelet knows: the address, the UUID, or the port path. */
const char *dev_kubelet_id(const struct dev *d);
/* The reverse; `resource` must be the device's, or NULL. */
struct dev *devices_of_kubelet(const struct devices *t, const char *resource,
			       const char *kubelet_id);

/* The name by which it is offered: resource_name, or, until kubelet says that the pod that last got
 * it is over, the name it had then. kubelet counts the device under that name and asks for it
 * before each start of a container; after a reboot or a restart of the daemon even before anybody
 * else knows of the pod. */
const char *dev_resource(const struct dev *d);
/* kubelet lists the device under this name; a name other than ours may be another plugin's. Returns
 * true if its health may have changed. */
bool dev_given(struct dev *d, const char *resource);
/* Records the nodes of d and its group as given to a pod now, as the tree will say. */
void dev_kept(const struct devices *t, struct dev *d);

/* lines set allocated_to in ctl. Was one of their devices given to a pod at `since` (ms) or
 * later? */
bool devices_overtaken(const void *table, const char *lines, uint64_t since);

/* Its claim is still being restored: there is nothing yet that a pod could have of it. */
bool dev_comes(const struct dev *d);
/* NULL: it is offered. Else why kubelet does not learn of it, even if it is healthy. */
const char *dev_withheld(const struct dev *d);
bool dev_offered(const struct dev *d);
/* NULL: healthy. Else why it cannot be given to a pod; the text may be in `buf`. */
const char *dev_sick(const struct devices *t, const struct dev *d, uint64_t now, char *buf,
		     size_t size);
/* Does a pod have it, as far as is known? "pending" counts. */
bool dev_allocated(const struct dev *d);
/* Is the name of its pod known? */
bool dev_named(const struct dev *d);
/* Does it block its group for other pods? A device that is pending, but not given by us, does:
 * kubelet will name its pod. */
bool dev_keeps_group(const struct dev *d);
/* Is peer with another pod than d? If the pod of d is not known yet: may it be? */
bool dev_rivals(const struct dev *d, const struct dev *peer, uint64_t now);
/* Writes into buf why rival blocks d; returns buf. */
const char *dev_rival_tell(const struct dev *d, const struct dev *rival, char *buf, size_t size);

/* Call it after a change. A device that was sick stays so until it has been healthy for
 * HEALTHY_AFTER_MS. Returns when the next one becomes healthy (ms); UINT64_MAX: none waits. */
uint64_t devices_judge(struct devices *t, uint64_t now);

enum { HEALTHY_AFTER_MS = 500 };

/* Later than any time. */
#define GIVEN_RUNNING (UINT64_MAX / 2)

#endif
