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
enum cause_rank {
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
	enum cause_rank rank;
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
	bool text_console; /* there is one, as critical_keyboards() needs to know */
};

/* What lies between a device and its user, the user first. Deeper stacks are cut off. */
#define CHAIN_MAX 32

struct chain {
	const char *names[CHAIN_MAX];
	size_t n;
};

/* A disk or a network interface. */
struct item {
	char *name; /* as in sysfs: '!' for '/' */
	char *path; /* below the sysfs root */
	bool asked; /* it, or a NIC below it, hangs on a device that the scan is about */
	bool used;  /* a reason was found */
	bool loaded;	     /* a NIC: its edges are */
	unsigned int needed; /* reasons followed from it, a bit for each rank */
	unsigned int seen;
};

/* All of a class, and a walk from one that is needed down to devices. */
struct items {
	struct scan *scan;
	const char *noun; /* for sentences */
	struct item *rows;
	size_t n, cap;
	bool asked; /* a row has `asked` */
	/* number of the current walk: it stops at visited rows, so cycles end */
	unsigned int stamp;
	struct chain chain;
	/* of the cause: the mount point, the holder, what a NIC is below; NULL: the user is the
	 * first of chain */
	const char *detail;
	/* Goes on with items_walk() to what the row lies on. found: it hangs on devices itself. */
	void (*below)(struct items *all, struct item *row, enum cause_rank rank, const char *what,
		      bool found);
};

/* Reads a class of sysfs ("block"). Returns 0 or -errno; call items_free() in any case. */
int items_load(struct items *all, const char *class);
void items_free(struct items *all);
/* NULL: there is none of that name. */
struct item *items_find(const struct items *all, const char *name);
/* Guards the devices right below the row. Returns false if there are none. */
bool items_guard(struct items *all, struct item *row, enum cause_rank rank, const char *what);
void items_walk(struct items *all, struct item *row, enum cause_rank rank, const char *what);
/* The row (NULL: none) is needed, so what is at its bottom is needed too. */
void items_need(struct items *all, struct item *row, enum cause_rank rank, const char *what);
/* Likewise; however often it is mounted, or routes lead through it, each kind is one cause. */
void items_need_once(struct items *all, struct item *row, enum cause_rank rank, const char *what);

/* Makes room for one more row. NULL: no memory, which is noted in scan. */
void *scan_grow(struct scan *scan, void *rows, size_t n, size_t *cap, size_t size);

void scan_need(struct scan *scan, const struct key *dev, enum cause_rank rank, const char *cause,
	       const char *text);
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
