/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The number of VFs: its method (sriov.c) and its steps (sriov_steps.c). */
#ifndef PCIDEVFS_BACKEND_SRIOV_H
#define PCIDEVFS_BACKEND_SRIOV_H

#include "pcidevfs/plan.h"

#define VFS_MAX INTENT_VFS /* of one PF: what a transaction may touch, and what is kept of them */

struct device;
struct err;
struct intent;

/* What the kernel would take away with the VF without asking: what the host needs, what is held. */
int sriov_refuse_vf(const struct device *pf, const struct device *vf, bool force, struct err *err);

/* A claim of virtfn<n> of that PF is stored. */
bool sriov_claim_stored(const struct intent *pf, unsigned int n);

extern const struct verb sriov_set_numvfs;    /* value: how many; removing none that is held */
extern const struct verb sriov_set_autoprobe; /* value: 0 or 1; 0 is remembered as ours */

#endif
