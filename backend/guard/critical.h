/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the passes of critical_scan(); for backend/guard/critical*.c only. */
#ifndef PCIDEVFS_BACKEND_CRITICAL_H
#define PCIDEVFS_BACKEND_CRITICAL_H

#include <stddef.h>

#include "pcidevfs/critical.h"
#include "pcidevfs/device.h"
#include "pcidevfs/key.h"

struct sysfs;

/* Ascending: the weightiest reason comes first and is the one shown. */
enum rank {
	RANK_ROOT, /* the root file system */
	RANK_MOUNT,
	RANK_SWAP,
	RANK_ROUTE,
	RANK_ADDRESS,
	RANK_BELOW, /* a port of a bond, a bridge or OVS */
	RANK_PPPOE,
	RANK_HOLDER,
	RANK_EXCLUSIVE,
	RANK_CONSOLE,
	RANK_FUNCTION, /* its class */
	RANK_NONE,
};

/* A reason, so that it is known again over a reboot: its kind, what it is about, and a detail, for
 * example "mount sda1 /", in words of letters, digits and /._-:!; another word, or a long one, is
 * its hash. */
#define CAUSE_TEXT 80

/* Of one device: more than FORCED_TEXT has room for, so "more" behind them is never forced. */
#define CAUSES_MAX 128

struct guard {
	struct key device;
	enum rank rank;
	size_t order; /* in which it was found */
	char cause[CAUSE_TEXT];
	char text[CRITICAL_TEXT];
};

struct scan {
	const struct sysfs *s;
	const char *only; /* devices that the scan is about, NULL all: devpath.h */
	struct guard *guards;
	size_t n, cap;
	bool no_memory;
};

/* What lies between a device and its user, the user first. Deeper stacks are cut off. */
#define CHAIN_MAX 32

struct chain {
	const char *names[CHAIN_MAX];
	size_t n;
};

/* Makes room for one more row. NULL: no memory, which is noted in scan. */
void *scan_grow(struct scan *scan, void *rows, size_t n, size_t *cap, size_t size);

void scan_need(struct scan *scan, const struct key *dev, enum rank rank, const char *cause,
	       const char *text);
/* Guards each device that the one at path hangs on (devpath.h). Returns false if there is none. */
bool scan_guard(struct scan *scan, const char *path, enum rank rank, const char *cause,
		const char *text);
/* The cause, of a kind that follows from the rank; detail may be "". */
void scan_cause(char buf[static CAUSE_TEXT], enum rank rank, const char *name, const char *detail);
/* " through bond0 and br0"; "" for an empty chain. */
void scan_through(const struct chain *chain, char *buf, size_t size);
/* Returns where a device of a class lies; the caller frees it. NULL if it does not exist. */
char *scan_link(struct scan *scan, const char *class, const char *name);
/* Reads a whole file of proc into *ret, which the caller frees. Returns 0 or -errno. */
int scan_text(struct scan *scan, const char *path, char **ret);
/* Likewise, for a file of the first process, or else of our own. */
int scan_proc(struct scan *scan, const char *name, char **ret);

/* The passes. Return 0 or -errno. */
int critical_disks(struct scan *scan);
int critical_nics(struct scan *scan);
int critical_keyboards(struct scan *scan);

#endif
