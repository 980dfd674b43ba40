/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The number of VFs: its method (sriov.c) and its steps (sriov_steps.c). */
#ifndef PCIDEVFS_BACKEND_SRIOV_H
#define PCIDEVFS_BACKEND_SRIOV_H

#include "pcidevfs/plan.h"

#define VFS_MAX INTENT_VFS /* of one PF: limit of a transaction and of stored intents */

struct backend;
struct device;
struct err;
struct intent;

/* Refuses if the host needs the VF or it is held: the kernel would take it away without asking. */
int sriov_refuse_vf(const struct device *pf, const struct device *vf, bool force, struct err *err);

/* Is a claim of virtfn<n> of that PF stored? */
bool sriov_claim_stored(const struct intent *pf, unsigned int n);

extern const struct verb sriov_set_numvfs;    /* value: the number; refuses to remove a held VF */
/* Likewise, by the driver's own tool: all VFs, or 0. */
extern const struct verb sriov_manage;
extern const struct verb sriov_set_autoprobe; /* value: 0 or 1; 0 is recorded as ours */

/* The step's number, by that tool; had: how many VFs there are. */
int sriov_run_tool(struct backend *b, struct step *step, unsigned int had, unsigned int n,
		   unsigned int ms, struct err *err);
/* By virtfn links. */
int sriov_count(struct backend *b, const struct key *pf, unsigned int *ret, struct err *err);

#endif
