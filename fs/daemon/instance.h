/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a daemon has of its own in CONTROL_DIR (control.h), besides its socket.
 *
 * Daemons on one sysfs find each other by entries there, where nobody else can enter. An
 * entry's name has sysfs, pid namespace and pid; a lock on it shows that its daemon lives. Each of
 * two daemons takes the other's operations for those of strangers. People are warned, but nothing
 * is refused, because a former process of ours that hangs in the kernel looks the same.
 */
#ifndef FS_INSTANCE_H
#define FS_INSTANCE_H

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>

#include "pcidevfs/txn.h"

struct err;
struct intents;
struct out;

/* Zeroed until instance_enter(). */
struct instance {
	pthread_mutex_t lock;
	int fd; /* lock */
	/* A pid is only meaningful if another entry names our pid namespace too. */
	char name[NAME_MAX + 1];
	size_t sysfs, space; /* how much of the name, from its beginning, tells each of them */
};

/* Makes our entry. If that fails (no CONTROL_DIR, as for a user) it is not an error: daemons then
 * do not see each other, and health says why. */
void instance_enter(struct instance *i, const char *sysfs);
void instance_leave(struct instance *i);

/* Returns 0: no other daemon; 1: another one, with a sentence; -errno: unknown, with a sentence.
 * Never waits. Makes our entry again if it was removed. */
int instance_others(struct instance *i, struct err *err);
/* A keyed line: alone=yes, no or unknown, and what to do. */
void instance_health(struct instance *i, struct out *o);

#define BOOT_ID 40
/* The id of this boot, by the kernel below proc; "unknown" if it has none. */
void instance_boot_id(const char *proc, char ret[static BOOT_ID]);

/* The file of running operations, for the next daemon if all processes of this one die: in
 * CONTROL_DIR, named by the state directory and locked, so that two daemons never share it. */
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
