/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The framebuffer of a card: which vGPUs share it, now or behind the steps of a plan, and whether
 * another one fits. Only what follows for sure is said to fit or not to. */
#ifndef BACKEND_GPU_BUDGET_H
#define BACKEND_GPU_BUDGET_H

#include "pcidevfs/mig.h"
#include "types.h"

struct plan;

/* May the vGPUs of a card differ in size? As its driver's lists have shown since it had the first
 * one; while it has none the mode may change. */
enum vgpu_sizes { SIZES_UNKNOWN, SIZES_ONE, SIZES_MIXED };

enum fit { FIT_NO, FIT_PERHAPS, FIT_YES };

struct budget_vgpu {
	char name[KEY_NAME], type[PROFILE_NAME]; /* its VF or UUID; the type's name */
	int32_t mib;				 /* -1: unknown */
};

struct budget {
	enum vgpu_sizes sizes;
	int64_t least, total; /* MiB of the card, at least; and exactly, 0: unknown */
	char idle[KEY_NAME];  /* one of its VFs that is no vGPU; "" */
	bool own;	      /* it makes mediated devices of itself, and its list counts them */
	bool freed;	      /* the plan ends some */
	/* The MIG of the card behind the plan; mig_known: it is told. mig_changes: by the plan. */
	bool mig_known, mig_changes;
	struct mig mig;
	int made;	      /* by the plan; made_as: all of this type, "": of several */
	char made_as[TYPE_ID];
	size_t n, cap;
	struct vgpu_types types; /* all that the card is known to have */
	struct budget_vgpu v[];
};

#define BUDGET_MORE 64 /* that others have made meanwhile, of a card without VFs */
/* Of this card; plan: behind its steps, NULL: now. To be freed; NULL: no memory. Call it with the
 * model locked. */
struct budget *budget_new(struct model *m, const struct device *card, const struct plan *plan);
/* type: a name or an id; "": it is no vGPU any more. Beyond what a budget of its card can have: left
 * out. */
void budget_set(struct budget *b, const char *name, const char *type);

/* Is there room for one more of this type? available: how many of it the driver lists for a device
 * that is no vGPU, or -1. */
enum fit budget_fit(const struct budget *b, const struct vgpu_type *t, int32_t available);
/* budget_mig.c: likewise of a card whose MIG mode is on, or of a type that needs an instance. */
bool budget_is_mig(const struct budget *b, const struct vgpu_type *t);
enum fit budget_fit_mig(const struct budget *b, const struct vgpu_type *t, int32_t available);
void budget_why_mig(const struct budget *b, const struct vgpu_type *t, char ret[static TYPE_WHY]);
/* For how many more of them there are instances. */
int budget_instances(const struct budget *b, const struct vgpu_type *t);
/* What is in the way of one more; "": nothing of what is known. */
void budget_why(const struct budget *b, const struct vgpu_type *t, char ret[static TYPE_WHY]);
/* Learns from what the driver lists for a device that is no vGPU how many of each type the card can
 * still have, its framebuffer, and whether sizes may differ. */
void budget_learn(struct budget *b, const struct vgpu_types *now);

#endif
