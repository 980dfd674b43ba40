/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who opened a file. As in the kernel, the opener's rights count as long as the file is open,
 * whoever writes. So a shell started by sudo can pass on a file that it opened, and nobody can make
 * a root program write to a file that another user opened. Flat: the memory outlives the
 * process. */
#ifndef PCIDEVFS_CREDS_H
#define PCIDEVFS_CREDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "pcidevfs/util.h"

#define CREDS_GROUPS 64
struct creds {
	uid_t uid;
	gid_t gid;
	uint32_t n_groups; /* supplementary; those beyond CREDS_GROUPS are ignored */
	gid_t groups[CREDS_GROUPS];
	/* Root means the capability, whatever the uid: see rights_creds() in fs/rights.h. */
	bool privileged; /* CAP_SYS_ADMIN: may force; no limit applies */
	bool overrides;	 /* CAP_DAC_OVERRIDE: may write the files of others */
	/* one of both (the plugin), or group pcidevfs (sync): general limits do not apply */
	bool reserve;
};

/* For creds from memory that others could write. */
static inline bool creds_valid(const struct creds *c)
{
	return c->n_groups <= CREDS_GROUPS && flag_valid(&c->privileged) &&
	       flag_valid(&c->overrides) && flag_valid(&c->reserve);
}

#endif
