/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the plans for MIG: mig_plan.c, which has the mode, and mig_layout.c. */
#ifndef BACKEND_GPU_MIG_PLAN_H
#define BACKEND_GPU_MIG_PLAN_H

#include "mig_steps.h"
#include "pcidevfs/plan.h"

extern const struct method mig_layout_method;

/* Is it a request of mig/mode for 1? */
bool mig_asks_on(const struct request *request);
/* Does the plan's transaction ask for no VFs? */
bool mig_loses_vfs(const struct plan *plan, const struct device *dev);

/* -EBUSY, -EOPNOTSUPP: whatever is asked of the card. */
int mig_refuse(const struct device *dev, const struct request *request, struct err *err);
/* -EOPNOTSUPP, -EAGAIN: its driver has told nothing. what: "MIG", or the file that is written */
int mig_refuse_unknown(const struct device *dev, const char *what, struct err *err);
/* -EBUSY: the instance is in use. what: "it would go" */
int mig_refuse_instance(const struct mig *m, const struct mig_instance *in, const char *what,
			struct err *err);

/* profile: index in m. */
struct mig_spot mig_spot_of(const struct mig *m, unsigned int profile, unsigned int start,
			    const uint8_t computes[static MIG_SLICES]);
int mig_plan_spot(struct plan *plan, const struct verb *verb, const struct device *dev,
		  const struct mig_spot *s, struct err *err);
int mig_plan_removal(struct plan *plan, const struct device *dev, const struct mig *m,
		     const struct mig_instance *in, struct err *err);

#endif
