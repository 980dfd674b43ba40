/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of a search for holders (holders.h): what a descriptor is, which user pays, the
 * walk. */
#ifndef PCIDEVFS_BACKEND_HOLD_H
#define PCIDEVFS_BACKEND_HOLD_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "pcidevfs/holders.h"
#include "pcidevfs/key.h"

struct statx;
struct sysfs;

/* ---- hold_nodes.c: which descriptors lead to a device */

/* One way to a device: an inode below --dev, a device number, or an inode of sysfs. */
struct hold_node {
	enum hold_by { BY_INODE, BY_CHAR, BY_BLOCK, BY_RESOURCE } by;
	uint64_t dev, ino; /* dev: for BY_CHAR and BY_BLOCK the number itself */
	struct key device; /* bus BUS_NONE: looked up, leads to no device */
	bool vfio;
	pid_t last; /* for the caller's use */
	/* BY_INODE: who may open it, for hold_nodes_rights() */
	uid_t uid;
	gid_t gid;
	mode_t mode;
};

struct hold_nodes {
	const struct sysfs *s;
	const char *only; /* take resource files of these only (devpath.h); NULL: of all */
	struct hold_node *rows;
	size_t n, cap;
	bool has_resources; /* rows include resource files */
	bool real_sysfs;
	dev_t sysfs_dev;
	struct {
		dev_t dev;
		bool is_sysfs;
	} seen[16]; /* file systems known so far */
	size_t n_seen;
	int error;
};

/* Reads the nodes below --dev. Returns 0 or -errno; call hold_nodes_close() in any case. */
int hold_nodes_open(struct hold_nodes *nodes, const struct sysfs *s, const char *only);
void hold_nodes_close(struct hold_nodes *nodes);
/* Must hold_is_sysfs() be called for this file system before hold_nodes_find()? Its result goes to
 * hold_nodes_told(), once for each file system. */
bool hold_nodes_asks(const struct hold_nodes *nodes, const struct statx *st);
/* Follows the link. May hang, so it touches nothing of ours. */
bool hold_is_sysfs(int dir, const char *name);
void hold_nodes_told(struct hold_nodes *nodes, const struct statx *st, bool is_sysfs);
/* The rows that a descriptor leads to, by its statx() with STATX_TYPE and STATX_INO: returns the
 * first of *ret_n; none if it leads to no device. Valid until the next call. */
struct hold_node *hold_nodes_find(struct hold_nodes *nodes, const struct statx *st, size_t *ret_n);
/* Calls found() once for each pair of a node below --dev and its device, whether open or not. */
void hold_nodes_rights(struct hold_nodes *nodes,
		       void (*found)(void *ctx, const struct key *dev, const struct stat *st),
		       void *ctx);

/* ---- hold_budget.c: how much of /proc is read for each user */

#define HOLD_USERS 128

/* Limits of descriptors, each of which takes 10 to 20 us: for a process, for all of root, for
 * another user, for all users but root. Each of the first HOLD_USERS has HOLD_RESERVE of its
 * own. */
#define HOLD_PROCESS 32768
#define HOLD_ROOT 65536
#define HOLD_USER 32768
#define HOLD_ALL 65536
#define HOLD_RESERVE 256
/* A call that hangs is charged as this many descriptors, which take the same time. */
#define HOLD_HANG 16384

struct hold_user {
	uid_t uid;
	uint32_t used;
	uint32_t unknown; /* number of processes */
};

struct hold_budget {
	struct hold_user users[HOLD_USERS + 1]; /* the last row: all further users */
	size_t n;
	uint32_t pool; /* used part of HOLD_ALL */
};

struct hold_user *hold_user(struct hold_budget *b, uid_t uid);
/* Charges n. Returns false and charges nothing if the user has less left. */
bool hold_take(struct hold_budget *b, struct hold_user *user, uint32_t n);
/* Charges n even if less is left. */
void hold_charge(struct hold_budget *b, struct hold_user *user, uint32_t n);

/* The user that started a process. */
struct hold_who {
	uid_t uid;
	gid_t gid, groups[64];
	size_t n_groups;
	bool all_groups; /* has more groups than can be read */
};

/* Reads the real ids: a setuid program counts for its user. False if it is gone or not readable. */
bool hold_who(const struct sysfs *s, pid_t pid, struct hold_who *ret);
/* Could the user open it for reading or writing, by owner, groups and mode? */
bool hold_could_open(const struct hold_who *who, const struct stat *st);

/* ---- hold_procs.c: which tables were read already */

/* This thread hung and lost the walk: it must not touch anything any more. */
#define HOLD_LEFT (-ECANCELED)

struct hold_tables {
	/* Like kcmp(2) with KCMP_FILES: 0 same, 1 and 2 before and behind; or -errno, HOLD_LEFT. */
	int (*compare)(void *ctx, pid_t a, pid_t b);
	void *ctx;
	pid_t *tids; /* a thread of each table, in that order */
	size_t n, cap;
	pid_t last; /* a thread with the table that was found last, 0 none */
};

/* Is proc this kernel's, with our pids? */
bool hold_tables_own(const struct sysfs *s);
/* 1: this thread's table was known. 0: it is known now, or access is denied. -ENOMEM, HOLD_LEFT. */
int hold_tables_has(struct hold_tables *t, pid_t tid);
bool hold_has_pid(const pid_t *pids, size_t n, pid_t pid);
int hold_add_pid(pid_t **pids, size_t *n, size_t *cap, pid_t pid);

/* ---- likewise: processes, and those of the daemon */

/* Since Linux 6.2; before that 0. 1: it cannot be told. */
off_t hold_count_files(const struct sysfs *s, pid_t pid);
size_t hold_count_threads(const struct sysfs *s, pid_t pid);
int hold_is_refused(int error);
bool hold_is_kernel(const struct sysfs *s, pid_t pid);

#define HOLD_HELPERS 64

struct hold_own {
	struct hold_asker asker;
	bool valid; /* false: nobody is skipped */
	bool checked;
	pid_t helpers[HOLD_HELPERS + 3];
	size_t n;
};

enum hold_part {
	HOLD_ALL_OF_IT, /* no process of ours, or nobody knows */
	HOLD_OUTPUTS,	/* of the rest we have opened all ourselves */
	HOLD_NOTHING,
};

/* Before a walk. */
void hold_own_open(struct hold_own *own, const struct sysfs *s, const struct hold_asker *asker);
/* How much of this process must be read? */
enum hold_part hold_own_part(const struct hold_own *own, pid_t pid);
/* After a walk: then hold_own_left() gives one by one the pids that were skipped and may have been
 * another's meanwhile; 0: no more. */
void hold_own_check(struct hold_own *own, const struct sysfs *s);
pid_t hold_own_left(struct hold_own *own);

/* ---- hold_walk.c: the processes */

struct hold {
	struct key device;
	bool unsure; /* its descriptors are unknown, and its user could open a node */
	pid_t pid;
};

/* The result of a walk. */
struct hold_found {
	struct hold *holds;
	size_t n, cap;
	/* Processes with a VFIO device that the kernel does not name and no other VFIO node. */
	pid_t *anonymous;
	size_t n_anonymous, cap_anonymous;
	pid_t *unknown; /* some of the processes with unknown descriptors */
	size_t n_listed, cap_unknown;
	size_t n_unknown, n_unseen; /* numbers of processes */
	pid_t unseen;		    /* the first of the latter */
	bool hangs;		    /* a thread of ours hangs */
};

int hold_add(struct hold_found *found, const struct key *dev, pid_t pid, bool unsure);
/* Returns 0 or -errno. */
int hold_walk(const struct sysfs *s, const struct hold_asker *asker, struct hold_nodes *nodes,
	      struct hold_found *ret);

#endif
