/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One device as the model holds it: what the kernel says (facts), how it is
 * called (names), what was asked of it (want), and what follows (kind, caps,
 * state, reason).
 *
 * The record is flat, so that it can lie in memory that outlives the daemon: no
 * pointers; every string is terminated and "" means none. An upgrade knows the
 * layout by MODEL_ABI (model.h) and the record's size: a change that keeps the
 * size needs a new MODEL_ABI, and so does one of what a field means. A unit test
 * asks for the former.
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
	1024 /* of one PF: more are not made; the field in config space has room for 65535 */
#define ALLOCATED_NAME 382 /* Kubernetes: 63 + 1 + 253 + 1 + 63 characters at most */
#define PROFILE_NAME 64 /* "NVIDIA RTXP6000-96C-24Q-VIRT" is long (spec/peers.md 1.10) */
#define LAST_ERROR 520
#define CLAIM_NAME 254 /* DESIGN.md 5: at most 253 characters */

/* What a device can do. Follows identity, not the driver of the moment. A row's mask is made of
 * these. */
enum cap {
	CAP_PCI = 1 << 0,
	CAP_CLAIM = 1 << 1,  /* can be handed to a guest: no bridge */
	CAP_SRIOV = 1 << 2,  /* a PF: has sriov_totalvfs */
	CAP_VF = 1 << 3,     /* its parent is its PF: device_is_vf() */
	CAP_GROUP = 1 << 4,  /* lies in an IOMMU group */
	CAP_RESET = 1 << 5,  /* the kernel has a function reset for it */
	CAP_GPU = 1 << 6,    /* display class 03 */
	CAP_NIC = 1 << 7,    /* network class 02 */
	CAP_NUMVFS = 1 << 8, /* a PF whose number of VFs is written to sriov_numvfs */
	CAP_END,	     /* above all of them */
};

enum kind {
	KIND_PCI,
	KIND_SRIOV_GPU,
	KIND_SRIOV_NIC,
	KIND_SRIOV,
	KIND_VF,
	KIND_VGPU,
	KIND_BRIDGE,
	KIND_MDEV,
	KIND_USB,
	KIND_COUNT
};

/* In the order of DESIGN.md 3: the first that fits is shown. */
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

/* What was asked, and what must be known to take it back: a row of intents.def each. */
struct intent {
#define INTENT(type, name, bit, whose) type name;
#define INTENT_TEXT(name, size, bit, whose) char name[size];
#define INTENT_ARRAY(type, name, n, bit, whose) type name[n];
#include "pcidevfs/intents.def"
};

struct device {
	struct key key;
	uint64_t birth;	     /* generation of its appearance: a re-plugged device has another */
	uint64_t generation; /* of its last change */
	uint32_t caps;	     /* enum cap */
	enum kind kind;
	struct facts facts;
	struct names names;
	struct intent intent;
	/* The claim that is stored for it, from when it is seen until restore has brought that
	 * back, or was refused; "" none. */
	char intended[CLAIM_NAME];
	enum state state;
	bool taken; /* free, but no pod can get it: one has another member of its IOMMU group */
	uint64_t let_go; /* us, 0: when a pod did, and nobody has looked since who still holds it */
	/* What a claim of it would be refused with now, by its rules (struct claim_rules of
	 * model.h): a positive errno and the sentence; 0 and "" where it would not be. */
	int32_t refused_code;
	char refused[ERR_TEXT];
	char reason[400];
	char busy[96];		     /* the operation that runs: "claim alice"; "" none */
	char stuck[256];	     /* why it could be neither done nor undone; "" none */
	char unmet[240];	     /* why what is stored for it is not applied; "" none */
	char last_error[LAST_ERROR]; /* "<file>: <sentence>", "" is shown as ok */
	char plan_query[320];	     /* what was written to plan */
};

const char *kind_name(enum kind kind);
const char *state_name(enum state state);

/* Other members of its IOMMU group that forbid something; NULL: none does. */
struct peers {
	const struct device *with_pod;
	const struct device *with_other; /* a pod has it that is not the device's own */
	const struct device *on_host; /* the kernel lets nobody open the group (spec/kernel.md 7) */
	const struct device *of_other; /* its claim file is another's, so nobody gets the nodes */
	const struct device *claimed; /* the device is not, and would be with it */
};

/* Pure: what follows from its class and relations. Sets caps and kind. */
void device_identify(struct device *dev);
/* Pure: what follows from facts, want and refused. Sets caps, kind, state, taken, reason; and
 * refused where no device of its kind can be claimed. */
void device_derive(struct device *dev, struct peers peers);

/* -EOPNOTSUPP, with the sentence that the device does not have this file. */
int device_lacks(const struct device *dev, const char *file, struct err *err);


/* A PCI function that another one, its parent, has made. */
bool device_is_vf(const struct device *dev);

/* Its claim is stored, and restore is about to bring it back. */
bool device_is_coming(const struct device *dev);
/* Whose it is, be it that the claim is only coming; "" nobody's. */
void device_claim(const struct device *dev, char buf[static CLAIM_NAME]);

/* A pod has it. What is stored counts from when its claim is back. */
bool device_is_allocated(const struct device *dev);
/* A pod is known to have it: more than "pending", which may yet be any pod's. */
bool device_with_pod(const struct device *dev);
/* /dev/vfio/<group> and the cdevs go to the owner of the claim files where all claimed members have
 * the same; a node gives the whole group, so else root keeps them. */
bool device_shares_owner(const struct device *dev, const struct device *other);
/* No claim has it, and no driver of the host's, though what it had before the one that is stored is
 * known: --early may have taken it, and then that claim could not be brought back. */
bool device_is_astray(const struct device *dev);

/* The name that it is, or would be, offered by: what was written, else one of its own, else the
 * computed one; "" when it cannot be claimed. Its own: "nvidia.com/0000_08_00_4", since kubelet
 * takes no colons. */
void device_resource(const struct device *dev, char buf[static RESOURCE_NAME]);

/* The same, but while a pod has it the name by which that was given it. */
void device_offered_as(const struct device *dev, char buf[static RESOURCE_NAME]);

/* Is it among facts.nodes? */
bool device_has_node(const struct device *dev, const char *node);

#define DOUBT_TEXT 256

/* The sentence on a function of which an attribute cannot be read, so that nobody knows for what it
 * would be taken; "" when there is none. */
void device_doubt(const struct device *dev, char buf[static DOUBT_TEXT]);

/* Is this a class the IOMMU group's claim leaves alone: PCI bridge or host bridge (DESIGN.md 5)? */
bool device_is_bridge(const struct facts *facts);

#endif
