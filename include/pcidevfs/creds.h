/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who opened a file. As in the kernel, his rights count for as long as it is open, whoever writes:
 * so a shell that was started by sudo can hand on what it opened, and a program of root cannot be
 * made to write what another one opened. Flat, for memory that outlives the process. */
#ifndef PCIDEVFS_CREDS_H
#define PCIDEVFS_CREDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CREDS_GROUPS 64
struct creds {
	uid_t uid;
	gid_t gid;
	uint32_t n_groups; /* supplementary; those beyond CREDS_GROUPS count for nothing */
	gid_t groups[CREDS_GROUPS];
	/* Root is who has the capability, whatever the uid: see rights_creds() in fs/rights.h. */
	bool privileged; /* CAP_SYS_ADMIN: may force, and no bound is for it */
	bool overrides;	 /* CAP_DAC_OVERRIDE: may write the files of others */
	/* one of both, as the plugin, or group pcidevfs, as sync: bounds for all are not for it */
	bool reserve;
};

#endif
