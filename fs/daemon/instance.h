/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Daemons on one sysfs see each other: an entry of each in CONTROL_DIR, where nobody else can
 * enter. Its name tells sysfs, pid namespace and pid, and a lock on it that it lives. Two daemons
 * take each other's operations for those of mismatches: people are told so, and nothing is refused
 * for it, since a former process of ours that hangs in the kernel looks the same.
 */
#ifndef FS_INSTANCE_H
#define FS_INSTANCE_H

#include <limits.h>
#include <pthread.h>

struct err;
struct out;

/* Zeroed until it enters. */
struct instance {
	pthread_mutex_t lock;
	int fd; /* lock */
	char name[NAME_MAX + 1];
};

/* Not an error where no entry can be made (no CONTROL_DIR, as for a user): others are then not
 * seen, nor is this one, and health tells why. */
void instance_enter(struct instance *i, const char *sysfs);
void instance_leave(struct instance *i);

/* 0: no other; 1: there is another one, with a sentence; -errno: that cannot be found out, with a
 * sentence. Waits for nothing. An entry that was removed is made again. */
int instance_others(struct instance *i, struct err *err);
/* A keyed line: alone=yes, no or unknown, and what to do. */
void instance_health(struct instance *i, struct out *o);

#define BOOT_ID 40
/* This boot's, by the kernel below proc; "unknown" where it has none. */
void instance_boot_id(const char *proc, char ret[static BOOT_ID]);

#endif
