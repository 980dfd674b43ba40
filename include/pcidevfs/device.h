/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A device in the model: the kernel's view (facts), its names, what was requested (intent), and
 * what follows (kind, caps, state, reason).
 *
 * The record is flat, so that it can be packed into memory that outlives the daemon: no pointers;
 * every string is terminated and "" means none. An upgrade recognizes the layout by MODEL_ABI (model.h)
 * and the record's size. A change that keeps the size needs a new MODEL_ABI, and so does a new
 * meaning of a field. A unit test checks the former.
 */
#ifndef PCIDEVFS_DEVICE_H
#define PCIDEVFS_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "pcidevfs/change.h"
#include "pcidevfs/err.h"
#include "pcidevfs/facts.h"
#include "pcidevfs/former.h"
#include "pcidevfs/key.h"

#define INTENT_VFS                                                                                 \
	1024 /* of one PF: limit of VFs; config space has room for 65535 */
#define ALLOCATED_NAME 382 /* Kubernetes: at most 63 + 1 + 253 + 1 + 63 characters */
#define LAST_ERROR 520
#define FORCED_TEXT 504 /* a volume over eight disks: two causes for each of them */
#define CLAIM_NAME 254 /* DESIGN.md 5: at most 253 characters */

/* What a device can do. Follows from identity, not from its driver. A row's mask is made of
 * these. */
enum cap {
	CAP_PCI = 1 << 0,
	CAP_CLAIM = 1 << 1,  /* can be handed to a guest: not a bridge */
	CAP_SRIOV = 1 << 2,  /* a PF: has sriov_totalvfs */
	CAP_VF = 1 << 3,     /* its parent is its PF: device_is_vf() */
	CAP_GROUP = 1 << 4,  /* is in an IOMMU group */
	CAP_RESET = 1 << 5,  /* the kernel has a function reset for it */
	CAP_GPU = 1 << 6,    /* display class 03 */
	CAP_NIC = 1 << 7,    /* network class 02 */
	CAP_NUMVFS = 1 << 8, /* a PF whose sriov_numvfs sets the number of VFs */
	CAP_VGPU = 1 << 9,   /* a VF of which its driver can make a vGPU */
	CAP_ENABLE = 1 << 10, /* an SR-IOV GPU or a VF of one: has the file enabled */
	CAP_VGPU_HOST = 1 << 11, /* a GPU of a vendor whose driver makes vGPUs: has vgpu_support */
	CAP_TYPES = 1 << 12,	 /* it, or its VFs, can have vGPU types: has profiles */
	CAP_CREATE = 1 << 13,	 /* makes mediated devices: has create */
	CAP_IDS = 1 << 14,	/* has ids and a class */
	CAP_USB = 1 << 15,	/* a USB device: has serial, speed, interfaces */
	CAP_HOSTED = 1 << 16,	/* a USB device of a PCI controller: has the link controller */
	CAP_PORT = 1 << 17,	/* on a USB hub's port, or made by a function: has a parent */
	CAP_NAMED = 1 << 18,	 /* has a resource_name: not a PCI bridge */
	CAP_MIG = 1 << 19,	 /* a GPU of a family that can be divided into instances: has mig/ */
	CAP_END,	     /* above all of them */
};

enum device_kind {
	KIND_PCI,
	KIND_SRIOV_GPU,
	KIND_SRIOV_NIC,
	KIND_SRIOV,
	KIND_VF,
	KIND_VGPU,
	KIND_BRIDGE,
	KIND_MDEV,
	KIND_USB,
	KIND_HUB,
	KIND_COUNT
};

/* In the order of DESIGN.md 3: the first match is shown. */
enum state {
	STATE_STUCK,
	STATE_BUSY,
	STATE_UNHEALTHY,
	STATE_ALLOCATED,
	STATE_HELD,
	STATE_CLAIMED,
	STATE_HOST,
	STATE_FREE,
	STATE_COUNT
};

/* What was requested, and what an undo must know: each is a row of intents.def. */
struct intent {
#define INTENT(type, name, bit, whose) type name;
#define INTENT_TEXT(name, size, bit, whose) char name[size];
#define INTENT_ARRAY(type, name, n, bit, whose) type name[n];
#include "pcidevfs/intents.def"
};

struct device {
	struct key key;
	uint64_t birth;	     /* generation of its appearance: differs if it is plugged in again */
	uint64_t generation; /* of its last change */
	uint32_t caps;	     /* enum cap */
	enum device_kind kind;
	struct facts facts;
	struct names names;
	struct intent intent;
	/* The stored claim, from the device's appearance until restore has restored it or was
	 * refused; "": none. */
	char intended[CLAIM_NAME];
	int32_t intended_vfs; /* the stored number of VFs, until restore has made them; 0: none */
	enum state state;
	bool taken; /* free, but a pod has another member of its IOMMU group */
	uint64_t let_go; /* us, 0: when a pod released it, if holders were not looked for since */
	uint64_t unbinds; /* how often its driver was heard to leave it: it may be back at once */
	/* What its claim would be refused with now, by the rules (struct claim_rules of model.h): a
	 * positive errno and the sentence; 0 and "": it would not. */
	int32_t refused_code;
	char refused[ERR_TEXT];
	char reason[400];
	char busy[96];		     /* the running operation: "claim alice"; "": none */
	/* why an operation could be neither done nor undone; "": none */
	char stuck[256];
	char unmet[240];	     /* why its intents are not applied; "": none */
	char last_error[LAST_ERROR]; /* "<file>: <sentence>"; "" is shown as ok */
	uint32_t error_uid;	     /* who was refused with it */
	char plan_query[320];	     /* the text that was written to plan */
};

const char *kind_name(enum device_kind kind);
const char *state_name(enum state state);

/* Other members of its IOMMU group that forbid something; NULL: none does. */
struct peers {
	const struct device *with_pod;
	const struct device *with_other; /* another pod than the device's own has it */
	const struct device *on_host; /* the kernel lets nobody open the group (spec/kernel.md 7) */
	/* its claim file has another owner, so nobody gets the nodes */
	const struct device *of_other;
	const struct device *claimed; /* the device is not claimed, and would be together with it */
};

/* Pure: sets caps and kind from class and relations. */
void device_identify(struct device *dev);
/* Pure: sets caps, kind, state, taken and reason from facts, intent and refused. Also sets refused
 * if no device of its kind can be claimed. */
void device_derive(struct device *dev, struct peers peers);

/* Fails with -EOPNOTSUPP and the sentence that the device does not have this file. */
int device_lacks(const struct device *dev, const char *file, struct err *err);

/* A PCI function made by another one, its parent. */
bool device_is_vf(const struct device *dev);
/* Is it known by its parent and its index or name there: a VF, or what a parent makes by name? */
bool device_is_made(const struct device *dev);

/* Is everything known that distinguishes the card? False until the serial, which comes later, was
 * read. */
bool device_is_known(const struct device *dev);
/* Its claim is stored, and restore is about to apply it. */
bool device_is_coming(const struct device *dev);
/* Who claims it, even if the claim is not restored yet; "": nobody. */
void device_claim(const struct device *dev, char buf[static CLAIM_NAME]);

/* The driver that had it before its claim; "": none, or unknown, or it is not claimed. */
void device_former_driver(const struct device *dev, char buf[static DRIVER_NAME]);

/* A pod has it. A stored allocation counts once its claim is restored. */
bool device_is_allocated(const struct device *dev);
/* A known pod has it: not just "pending", which may be any pod. */
bool device_with_pod(const struct device *dev);
/* /dev/vfio/<group> and the cdevs go to the owner of the claim files if all claimed members have
 * the same one; a node gives access to the whole group, so otherwise root keeps them. */
bool device_shares_owner(const struct device *dev, const struct device *other);
/* It has no claim and no host driver, although what it had before the stored claim is known:
 * --early may have kept its driver away, and then that claim could not be restored. */
bool device_is_astray(const struct device *dev);

/* The name under which it is, or would be, offered: the written one, else one of its own, else the
 * computed one; "" if it cannot be claimed. Its own: "nvidia.com/0000_08_00_4", because kubelet
 * accepts no colons. */
void device_resource(const struct device *dev, char buf[static RESOURCE_NAME]);

/* Likewise, but while a pod has it the name under which the pod got it. */
void device_offered_as(const struct device *dev, char buf[static RESOURCE_NAME]);

/* Why no vGPU can be made of this card now, a sentence after "no: "; "": one can. */
const char *device_vgpu_lack(const struct device *dev);

/* Is the node among facts.nodes? */
bool device_has_node(const struct device *dev, const char *node);

#define DOUBT_TEXT 256

/* The sentence about a function with an unreadable attribute, which could be taken for another
 * device; "" if there is none. */
void device_doubt(const struct device *dev, char buf[static DOUBT_TEXT]);

/* Is it of a class that a group's claim leaves alone: PCI bridge or host bridge (DESIGN.md 5)? */
bool device_is_bridge(const struct facts *facts);

#endif
