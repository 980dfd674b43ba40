/* SPDX-License-Identifier: GPL-2.0-or-later */
/* NVIDIA's GPU Operator on the same node (spec/peers.md 1.3, 1.4, 4.9): by labels of its own the
 * Node says which of its components run there. Those whose work is ours are told to stay away.
 * Pure, as labels.h. */
#ifndef SYNC_NVIDIA_BESIDE_H
#define SYNC_NVIDIA_BESIDE_H

#include <stdbool.h>

#include "k8s-sync/agree/js.h"
#include "k8s-sync/agree/kinds.h"

struct inventory;

/* Components that we tell something; one more is a row. */
enum {
	BESIDE_NOTE = 512, /* bytes that all of these take, each with its longest value */
};

enum beside_id {
	BESIDE_DEVICE_PLUGIN,
	BESIDE_VFIO_MANAGER,
	BESIDE_VGPU_MANAGER, /* vgpu-device-manager, not the driver's vgpu-manager */
	BESIDE_MIG_MANAGER,
	BESIDE_VALIDATOR,
	BESIDE_IDS
};

/* The Node as it is. */
struct beside_now {
	bool here; /* the operator, and it has labelled this Node */
	bool dra;  /* its newer stack, GPUCluster, which has no labels for most of these */
	char value[BESIDE_IDS][LABEL_VALUE + 1]; /* "": it has no such label */
	/* Of each, what we have set it to and it still is; "": it is not ours. */
	char ours[BESIDE_IDS][LABEL_VALUE + 1];
	char note[BESIDE_NOTE]; /* the annotation, by which that is known */
};

/* How the vGPUs of the node are made. */
enum beside_world { WORLD_UNKNOWN, WORLD_MDEV, WORLD_VFIO };

/* Are vGPUs being changed? Unknown: nobody has looked yet, as after a start. */
enum beside_change { CHANGE_NONE, CHANGE_UNKNOWN, CHANGE_RUNS };

struct beside_case {
	const struct beside_now *now;
	bool workload, vgpu, mig; /* which of NVIDIA's labels options have us heed */
	enum beside_world world;
	enum beside_change change;
};

void beside_read(json_object *node, struct beside_now *ret);
enum beside_world beside_world(const struct inventory *inv);
/* Adds to a merge patch of the Node what is to be said, and makes one if *patch is NULL. Returns
 * whether there is something. */
bool beside_patch(const struct beside_case *c, json_object **patch);

#endif
