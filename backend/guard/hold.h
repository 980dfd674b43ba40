/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of a look for holders (holders.h): what a descriptor is, who it is charged to, the
 * walk. */
#ifndef PCIDEVFS_BACKEND_HOLD_H
#define PCIDEVFS_BACKEND_HOLD_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "pcidevfs/key.h"

struct statx;
struct sysfs;

/* ---- hold_nodes.c: what leads to a device */

/* One way to a device: an inode below --dev, a device number, or an inode of sysfs. */
struct hold_node {
	enum hold_by { BY_INODE, BY_CHAR, BY_BLOCK, BY_RESOURCE } by;
	uint64_t dev, ino; /* dev: the number itself, for BY_CHAR and BY_BLOCK */
	struct key device; /* of no bus: nobody's, which was looked up */
	bool vfio;
	pid_t last; /* the caller's */
};

struct hold_nodes {
	const struct sysfs *s;
	const char *only; /* resource files of these alone (devpath.h); NULL: of all */
	struct hold_node *rows;
	size_t n, cap;
	bool has_resources; /* they are among the rows */
	bool real_sysfs;
	dev_t sysfs_dev;
	struct {
		dev_t dev;
		bool is_sysfs;
	} seen[16]; /* other file systems */
	size_t n_seen;
	int error;
};

/* Reads the nodes below --dev. 0 or -errno; hold_nodes_close() in any case. */
int hold_nodes_open(struct hold_nodes *nodes, const struct sysfs *s, const char *only);
void hold_nodes_close(struct hold_nodes *nodes);
/* Must the file system be asked whether it is a sysfs, before hold_nodes_find()? That is told
 * once for each. */
bool hold_nodes_asks(const struct hold_nodes *nodes, const struct statx *st);
/* Follows the link; touches nothing of ours, since it may hang. */
bool hold_is_sysfs(int dir, const char *name);
void hold_nodes_told(struct hold_nodes *nodes, const struct statx *st, bool is_sysfs);
/* What a descriptor leads to, as statx() with STATX_TYPE and STATX_INO tells it: the first of
 * its rows, *ret_n of them; none when it leads to no device. They stay until the next call. */
struct hold_node *hold_nodes_find(struct hold_nodes *nodes, const struct statx *st, size_t *ret_n);
/* Which nodes below --dev lead to which device, whoever has them open; found() once for each. */
void hold_nodes_rights(struct hold_nodes *nodes,
		       void (*found)(void *ctx, const struct key *dev, const struct stat *st),
		       void *ctx);

/* ---- hold_budget.c: how much of /proc is read for whom */

#define HOLD_USERS 128

/* Descriptors, each of which takes 10 to 20 us: of a process, of all of root's, of all of
 * another user's, of all users but root; each of the first HOLD_USERS has some that no other can
 * use up. */
#define HOLD_PROCESS 32768
#define HOLD_ROOT 65536
#define HOLD_USER 32768
#define HOLD_ALL 65536
#define HOLD_RESERVE 256
/* What a call that hangs is charged as: it takes time as so many descriptors do. */
#define HOLD_HANG 16384

struct hold_user {
	uid_t uid;
	uint32_t used;
	uint32_t unknown; /* processes */
};

struct hold_budget {
	struct hold_user users[HOLD_USERS + 1]; /* the last: all further ones */
	size_t n;
	uint32_t pool; /* used of HOLD_ALL */
};

struct hold_user *hold_user(struct hold_budget *b, uid_t uid);
/* False: there is not so much left for him; what there is stays. */
bool hold_take(struct hold_budget *b, struct hold_user *user, uint32_t n);
/* Charges it even where there is less left. */
void hold_charge(struct hold_budget *b, struct hold_user *user, uint32_t n);

/* By whom a process was started. */
struct hold_who {
	uid_t uid;
	gid_t gid, groups[64];
	size_t n_groups;
	bool all_groups; /* more than can be read */
};

/* Real ids: who runs a setuid program is its user. False when it is gone or kept from us. */
bool hold_who(const struct sysfs *s, pid_t pid, struct hold_who *ret);
/* By owner, groups and mode, for reading or writing. */
bool hold_could_open(const struct hold_who *who, const struct stat *st);

/* ---- hold_tables.c: what was read already */

/* The walk was taken from this thread, which hung: nothing may be touched any more. */
#define HOLD_LEFT (-ECANCELED)

struct hold_tables {
	/* As kcmp(2) with KCMP_FILES: 0 the same, 1 and 2 before and behind; -errno, HOLD_LEFT. */
	int (*compare)(void *ctx, pid_t a, pid_t b);
	void *ctx;
	pid_t *tids; /* one of those that have it, of each table, in that order */
	size_t n, cap;
	pid_t last; /* one that has the table that was there last, 0 none */
};

/* Is proc this kernel's, with the numbers that we have for processes? */
bool hold_tables_own(const struct sysfs *s);
/* 1: this thread's table was there. 0: it is now, or is kept from us. -ENOMEM, HOLD_LEFT. */
int hold_tables_has(struct hold_tables *t, pid_t tid);
int hold_add_pid(pid_t **pids, size_t *n, size_t *cap, pid_t pid);

/* ---- hold_walk.c: the processes */

struct hold {
	struct key device;
	bool unsure; /* what it has open is not known, and its user could open a node */
	pid_t pid;
};

/* What a walk has found. */
struct hold_found {
	struct hold *holds;
	size_t n, cap;
	/* Processes with a VFIO device of which the kernel does not say which it is, and no
	 * other VFIO node. */
	pid_t *anonymous;
	size_t n_anonymous, cap_anonymous;
	pid_t *unknown; /* some of those whose descriptors are not known */
	size_t n_listed, cap_unknown;
	size_t n_unknown, n_unseen; /* processes */
	bool hangs;		    /* a thread of ours does */
};

int hold_add(struct hold_found *found, const struct key *dev, pid_t pid, bool unsure);
/* 0 or -errno. */
int hold_walk(const struct sysfs *s, struct hold_nodes *nodes, struct hold_found *ret);
void hold_found_free(struct hold_found *found);

#endif
