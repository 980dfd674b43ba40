/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the passes of critical_scan() share; for backend/critical*.c only. */
#ifndef PCIDEVFS_BACKEND_CRITICAL_H
#define PCIDEVFS_BACKEND_CRITICAL_H

#include <stddef.h>

#include "pcidevfs/critical.h"
#include "pcidevfs/device.h"
#include "pcidevfs/key.h"

struct sysfs;

/* The weightiest reason is shown. */
enum rank {
	RANK_ROOT, /* the root file system */
	RANK_MOUNT,
	RANK_SWAP,
	RANK_ROUTE,
	RANK_ADDRESS,
	RANK_BELOW, /* below a bond, a bridge, OVS */
	RANK_HOLDER,
	RANK_EXCLUSIVE,
	RANK_CONSOLE,
	RANK_FUNCTION, /* what a PCI function is */
	RANK_NONE,
};

struct guard {
	struct key device;
	enum rank rank;
	size_t order; /* of being found */
	char text[CRITICAL_TEXT];
};

struct scan {
	const struct sysfs *s;
	const char *only; /* the devices it is about, NULL all: devpath.h */
	struct guard *guards;
	size_t n, cap;
	bool no_memory;
};

/* What lies between a device and its user, the user first. Deeper stacks than this end there. */
#define CHAIN_MAX 32

struct chain {
	const char *names[CHAIN_MAX];
	size_t n;
};

/* Room for one more row; NULL when memory ran out, which is then noted. */
void *scan_grow(struct scan *scan, void *rows, size_t n, size_t *cap, size_t size);

/* Guards each device that the one at path hangs on (devpath.h); false if there is none. */
bool scan_guard(struct scan *scan, const char *path, enum rank rank, const char *text);
/* " through bond0 and br0"; "" for an empty chain. */
void scan_through(const struct chain *chain, char *buf, size_t size);
/* Where a device of a class lies, to be freed; NULL when there is none. */
char *scan_link(struct scan *scan, const char *class, const char *name);
/* A whole file of proc in *ret, to be freed. 0 or -errno. */
int scan_text(struct scan *scan, const char *path, char **ret);
/* A whole file of the first process, else of our own; the same. */
int scan_proc(struct scan *scan, const char *name, char **ret);

/* The passes. 0 or -errno. */
int critical_disks(struct scan *scan);
int critical_nics(struct scan *scan);

#endif
