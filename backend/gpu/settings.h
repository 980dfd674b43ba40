/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the vGPUs of a card share: `mixed_sizes` and `scheduler`, by NVML, while it has no vGPU. */
#ifndef BACKEND_GPU_SETTINGS_H
#define BACKEND_GPU_SETTINGS_H

#include "pcidevfs/device.h"
#include "pcidevfs/step.h"

struct backend;
struct err;
struct plan;

/* All of them: an SR-IOV GPU that makes vGPUs. */
#define CAP_SETTINGS ((uint32_t)(CAP_VGPU_HOST | CAP_ENABLE))

/* value: as the files read. */
extern const struct verb vgpu_mixed_sizes, vgpu_scheduler;

/* Records what the plan saw, the text at `fact` of the device. The driver was just asked. */
void settings_record(struct backend *b, struct step *step, size_t fact);

/* Around sriov-manage, which ends them (spec/nvml.md 5): they are ended before it, so that an undo
 * brings them back, and set again behind it, unless the transaction asks otherwise. */
int settings_plan_away(const struct device *dev, struct plan *plan, struct err *err);
int settings_plan_back(const struct device *dev, struct plan *plan, struct err *err);

#endif
