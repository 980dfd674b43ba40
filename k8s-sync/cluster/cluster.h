/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pcidevfs-sync --cluster: what belongs to the cluster and not to a node, without tree, node or
 * hardware. Two of them at once do no harm: every write is conditional. All of it is used in turns
 * of the loop alone. */
#ifndef SYNC_CLUSTER_H
#define SYNC_CLUSTER_H

#include "client/loop.h"
#include "picks.h"
#include "k8s-sync/api/brake.h"
#include "permitted.h"

struct access;
struct api;
struct call;
struct cluster;
struct events;
struct follow;
struct reply;

/* Objects of one kind, of which the few fields of picks.h are kept. */
struct pick_roll {
	struct cluster *c;
	enum pick_kind kind;
	struct follow *follow;
	struct lh_table *listing; /* NULL: no list is under way */
};

/* Objects of namespaces, without what nobody needs. */
struct space_roll {
	struct cluster *c;
	struct follow *follow;
	json_object *objects; /* by NAMESPACE/NAME */
	json_object *listing; /* NULL: no list is under way */
	bool listed;
};

/* Objects that hold KubeVirt's lists. */
enum holder_id { HOLDER_KUBEVIRT, HOLDER_HYPERCONVERGED, HOLDER_KINDS };
/* Pods that run VMs, VMs, and nodes, of which digests are kept (allocation.h, lost.h). */
enum vm_roll { ROLL_PODS, ROLL_VMS, ROLL_NODES, VM_ROLLS };

enum { PATCHING_TOLD = 5 /* a patch that is refused so many times is told */ };

/* A JSON patch of one object at a time, which is decided again whatever becomes of it. */
struct patching {
	struct cluster *c;
	struct call *call; /* NULL: none is under way */
	struct brake brake;
	unsigned int pause, tries; /* since one was taken */
	uint64_t at;		   /* ms: none before */
	void (*done)(struct patching *p, const struct reply *r);
};

/* What stands, and has been told. */
enum cluster_slot {
	SLOT_CERTIFICATE,
	SLOT_EVENTS,
	SLOT_NO_KUBEVIRT,
	SLOT_TWO,
	SLOT_PATCH, /* refused, or undone by somebody */
	SLOT_NOTES,
	SLOT_PICKS = SLOT_NOTES + NOTES,
	SLOT_HOLDERS = SLOT_PICKS + PICK_KINDS,
	SLOT_VMS = SLOT_HOLDERS + HOLDER_KINDS,
	SLOT_TELLING = SLOT_VMS + VM_ROLLS, /* who has what cannot be written */
	CLUSTER_SLOTS
};

struct cluster {
	struct loop loop;
	struct api *api;
	struct events *events;
	struct picks picks;
	struct pick_roll rolls[PICK_KINDS];
	struct space_roll holders[HOLDER_KINDS];
	struct patching permitted;
	json_object *unoffered; /* permitted.h */
	struct space_roll vms[VM_ROLLS];
	struct lh_table *tellings; /* path: what is being told there */
	json_object *gpus_told;	   /* uids of VMs that were told of their `gpus` */
	uint64_t gpus_at;	   /* ms: the next one is told then */
	struct source work, trim;
	uint64_t decided; /* ms */
	bool told_ready;
	char told[CLUSTER_SLOTS][ERR_TEXT];
};

/* Runs until it is ended by a signal. Takes over the access. Returns 0 or -errno. */
int cluster_run(struct access *access, struct err *err);

/* ---- role.c */
/* Something changed: decides soon. */
void cluster_touch(struct cluster *c);
/* What stands in the log; "" takes it back. o: an Event about that object as well; NULL: none. */
void cluster_say(struct cluster *c, enum cluster_slot slot, const struct dialect *d, json_object *o,
		 const char *reason, const char *sentence);

/* ---- rolls.c: what is followed */
int rolls_open(struct cluster *c, struct err *err);
void rolls_close(struct cluster *c);
/* Members of follow_ops for a struct space_roll. */
void space_begin(void *ctx);
void space_drop(void *ctx);
void space_know(void *ctx);
void space_lose(void *ctx, json_object *o, bool listing);
/* It is known that there are none. */
void space_empty(struct space_roll *r);

/* ---- holders.c: the object that has KubeVirt's lists */
int holders_open(struct cluster *c, struct err *err);
void holders_close(struct cluster *c);
bool holders_known(const struct cluster *c);
/* Brings the lists in order. */
void holders_work(struct cluster *c);

/* ---- vms.c: who has what */
int vms_open(struct cluster *c, struct err *err);
void vms_close(struct cluster *c);
/* Tells devices their VM, and VMs their devices, once pods and VMs are known; which devices are on
 * nodes that nobody hears of, once those are; and on Harvester each VM once that has a PCI device in
 * its `gpus`, as was right for a mediated one. */
void vms_work(struct cluster *c);

/* ---- patching.c */
/* Sends a patch, unless one is under way or it is too early, which leads to another decision.
 * change: a hash of what the patch changes. Takes the path. Returns true if it is sent. */
bool patching_send(struct patching *p, struct out *path, json_object *patch, uint64_t change);
void patching_close(struct patching *p);

#endif
