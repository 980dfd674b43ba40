/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Daemons on one sysfs find each other by entries in CONTROL_DIR, where nobody else can enter. An
 * entry's name has sysfs, pid namespace and pid; a lock on it shows that its daemon lives. Each of
 * two daemons takes the other's operations for those of strangers. People are warned, but nothing
 * is refused, because a former process of ours that hangs in the kernel looks the same.
 */
#ifndef FS_INSTANCE_H
#define FS_INSTANCE_H

#include <limits.h>
#include <pthread.h>

struct err;
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

#endif
