/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vGPUs: the method `profile` and the claim without binding (vgpu.c), and their step
 * (vgpu_steps.c). */
#ifndef BACKEND_GPU_VGPU_H
#define BACKEND_GPU_VGPU_H

#include "pcidevfs/step.h"

struct claim_ops;
struct err;
struct model;
struct plan;
struct request;

/* value: the type's name, or "" for none. Makes a vGPU of a VF that is none, or ends it. */
extern const struct verb vgpu_profile;
extern const struct verb vgpu_params; /* value: the parameters, "" for none */
extern const struct claim_ops vgpu_claim;

#define UUID_TEXT 40
/* A random one (version 4). */
void vgpu_uuid(char buf[static UUID_TEXT]);

#endif
