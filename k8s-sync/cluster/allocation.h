/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who has what: nodes tell on the objects of their devices which pod has them. Here follows which
 * VM that is; it is told on the device, and on the VM its devices, as Harvester does it
 * (spec/harvester.md 2, 4.12). Pure. */
#ifndef SYNC_ALLOCATION_H
#define SYNC_ALLOCATION_H

#include <json-c/json.h>

#include "picks.h"

/* Of a VM: its devices, in JSON; and the pod that had them when that was written, as long as the
 * VM's own names for them may be other ones. */
#define DETAILS "harvesterhci.io/deviceAllocationDetails"
#define DETAILS_POD "pcidevfs-cluster/pod"

enum {
	DETAILS_MAX = 64 * 1024, /* a longer one tells nothing */
	VM_DEVICES = 256,	 /* a VM has not so many */
};

/* What counts of a pod: its node, its VM. NULL: it does not run one. */
json_object *pod_digest(json_object *pod);
/* What counts of a VM. NULL: it has no devices, and has had none. */
json_object *vm_digest(json_object *vm);

/* Returns what is to be changed, by the object's path a JSON patch. The first member of a patch is
 * a test without which the others mean nothing. pods, vms: digests by NAMESPACE/NAME. */
json_object *allocation_decide(const struct picks *all, json_object *pods, json_object *vms);

#endif
