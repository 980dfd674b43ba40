/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vGPUs: the method `profile` and the claim without binding (vgpu.c), and their step
 * (vgpu_steps.c). */
#ifndef BACKEND_GPU_VGPU_H
#define BACKEND_GPU_VGPU_H

#include <stdbool.h>

#include "pcidevfs/step.h"

struct backend;
struct err;
struct key;
struct model;
struct plan;
struct request;

/* value: the type's name, or "" for none. Makes a vGPU of a VF that is none, or ends it. */
extern const struct verb vgpu_profile;
extern const struct verb vgpu_params; /* value: the parameters, "" for none */

struct device;
struct vgpu_type;
struct vgpu_types;

/* vgpu_find.c, with the model locked, for VFs and for parents of mediated devices. The type of that
 * name, or id, whether there is room for it or not. -EINVAL, -EOPNOTSUPP with what is possible. */
int vgpu_find_type(struct model *m, const struct device *dev, const char *value,
		   struct vgpu_type *ret, struct err *err);
/* -ENOSPC: behind the steps of the plan its card has no room for this type. *ret_sure: it has, else
 * only the driver can tell. */
int vgpu_find_room(struct model *m, const struct device *dev, const struct vgpu_type *type,
		   const struct plan *plan, bool *ret_sure, struct err *err);
/* Likewise of a VF that does not exist yet, as far as the card's types are known. */
int vgpu_refuse_foreseen(struct model *m, const struct device *card, const struct request *request,
			 const struct plan *plan, struct err *err);
/* -ENOSPC: why a VF cannot become this type, or a parent not make one ("": its card has no room), and
 * what it can. */
int vgpu_refuse_full(const char *dev, bool vf, const char *type, const char *why,
		     const struct vgpu_types *now, struct err *err);

/* vgpu_steps.c. Likewise of a step that its driver has refused, by what the kernel shows: earlier steps
 * and others have changed the card. type: a name or an id. */
int vgpu_refuse_now(const struct backend *b, const struct key *dev, const char *type,
		    struct err *err);

/* For mediated devices of whole functions as well: */
/* -EBUSY: somebody has the vGPU; -EOPNOTSUPP. */
int vgpu_refuse_change(const struct device *dev, const struct request *request, struct err *err);
/* What it is now is what was asked for; claimed by admin where nobody claims it, unless it is being
 * restored. */
void vgpu_note(struct model *m, struct device *dev, const struct request *request);

#endif
