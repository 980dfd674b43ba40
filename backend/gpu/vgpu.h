/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vGPUs: the method `profile` and the claim without binding (vgpu.c), and their step
 * (vgpu_steps.c). */
#ifndef BACKEND_GPU_VGPU_H
#define BACKEND_GPU_VGPU_H

#include <stdbool.h>

#include "pcidevfs/step.h"

struct err;
struct model;
struct plan;
struct request;

/* value: the type's name, or "" for none. Makes a vGPU of a VF that is none, or ends it. */
extern const struct verb vgpu_profile;
extern const struct verb vgpu_params; /* value: the parameters, "" for none */

struct device;
struct vgpu_type;
struct vgpu_types;

/* -ENOSPC: why it cannot become this type (NULL, "": its card has no room), and what it can. */
int vgpu_refuse_full(const char *dev, const char *type, const char *why,
		     const struct vgpu_types *now, struct err *err);

/* For mediated devices of whole functions as well: */
/* The type of that name, or id, that the device can have; now: it must be available. -EINVAL,
 * -ENOSPC, -EOPNOTSUPP with what is possible. */
int vgpu_find_type(struct model *m, const struct device *dev, const char *value, bool now,
		   struct vgpu_type *ret, struct err *err);
/* -EBUSY: somebody has the vGPU; -EOPNOTSUPP. */
int vgpu_refuse_change(const struct device *dev, const struct request *request, struct err *err);
/* What it is now is what was asked for; claimed by admin where nobody claims it, unless it is being
 * restored. */
void vgpu_note(struct model *m, struct device *dev, const struct request *request);

#endif
