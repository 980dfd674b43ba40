/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MIG of a card: the methods `mig/mode` and `mig/layout` (mig_plan.c), and their steps
 * (mig_steps.c), by NVML. */
#ifndef BACKEND_GPU_MIG_STEPS_H
#define BACKEND_GPU_MIG_STEPS_H

#include "mig.h"
#include "pcidevfs/step.h"

struct device;
struct err;
struct model;
struct plan;

/* value: 0 or 1. Where the driver wants a reset first, the mode is pending behind the step. */
extern const struct verb mig_mode;
/* Each of an instance at its place. value: struct mig_spot, of which mig_destroy ignores the compute
 * instances; mig_compute changes nothing but these. */
extern const struct verb mig_create, mig_destroy, mig_compute;

bool mig_is_step(const struct step *s);

/* As text "9 3g.40gb 4:4": the profile's number and name, first slice and size; behind that the compute
 * instances, unless it is one of the whole size: "2c 1c*2", "none". */
struct mig_spot {
	unsigned int id, start, size;
	char name[MIG_NAME];
	uint8_t computes[MIG_SLICES]; /* by slices; [0]: of the whole size */
};
void mig_spot_print(const struct mig_spot *s, char ret[static STEP_VALUE]);
/* -EINVAL */
int mig_spot_read(const char *text, struct mig_spot *ret);

/* The card's MIG behind the steps of a plan (NULL: now); vGPUs count among who uses an instance.
 * -ENODATA: unknown. Call these with the model locked. */
int mig_behind(struct model *m, const struct device *dev, const struct plan *plan, struct mig *ret);
/* Around a step that takes all instances along, as sriov-manage does: they are removed before it, or it
 * is refused, and made again behind it, unless the transaction asks for others. what: "all are lost
 * when its VFs come or go" */
int mig_plan_away(struct model *m, const struct device *dev, const char *what, struct plan *plan,
		  struct mig *ret_were, struct err *err);
/* Of a step that is behind what the transaction asks for: all, in any case. */
int mig_plan_again(const struct device *dev, const struct mig *were, struct plan *plan,
		   struct err *err);
int mig_plan_back(const struct device *dev, const struct mig *were, struct plan *plan,
		  struct err *err);

#endif
