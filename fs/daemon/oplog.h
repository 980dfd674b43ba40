/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of running operations, for the next daemon if all processes of this one die: in
 * CONTROL_DIR, named by the state directory and locked, so that two daemons never share it. */
#ifndef FS_OPLOG_H
#define FS_OPLOG_H

#include <stdbool.h>

#include "pcidevfs/txn.h"

struct intents;

struct oplog {
	int fd; /* 0: none; conf.why tells why */
	char name[64], of[96];
	struct journal_conf conf;
};

/* Opens, locks and maps it; reads nothing. */
void oplog_open(struct oplog *l, const struct intents *in, const char *boot_id);
/* done: the next daemon need not know anything of it. */
void oplog_close(struct oplog *l, bool done);

#endif
