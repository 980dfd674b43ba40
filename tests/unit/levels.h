/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A world of counters for transactions. The method "level" brings each device of a request's group
 * to a number by one step per device; "top" can only be planned at level 5; "lane" is for one device. Each step can be made
 * to fail, to hang, or to fail in its undo. */
#ifndef PCIDEVFS_LEVELS_H
#define PCIDEVFS_LEVELS_H

#include <pthread.h>
#include <stdatomic.h>

#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/txn.h"

#define DEVICES 4
#define EVERYWHERE DEVICES

struct shared_world {
	_Atomic int level[DEVICES];
	_Atomic int fail_at; /* device whose step fails; -1: none; EVERYWHERE */
	_Atomic int fail_code;
	_Atomic bool last_first; /* steps at the gate go on only after those of later devices */
	_Atomic int undo_fails_at;
	_Atomic int undo_late_at; /* once */
	_Atomic bool late_waits;  /* a late step does not end */
	_Atomic bool wrong_result;
	_Atomic int gone; /* removed device, through which no group is found; -1: none */
	_Atomic int ended; /* failed steps */
	_Atomic int started, pulses, guarded; /* guarded: how often the guards were asked */
	/* number of verdicts; with die_told the first one kills its process */
	_Atomic int told;
	_Atomic bool told_again;   /* the last verdict may have been delivered before */
	pthread_mutex_t gate;	   /* held by a test: steps wait */
};
extern struct shared_world *shared; /* shared by the processes of a test */
#define kernel (*shared)

/* The process kills itself before or after the step of this device; -1: never. */
extern int die_at;
extern bool die_after;
extern bool die_told;

struct disk {
	_Atomic int begun, kept, fail_begun, fail_kept;
};
extern struct disk disk;

/* Called before each observation of devices; NULL: nothing. */
extern void (*before_look)(struct model *m);

/* Called once, in the middle of storing intents; NULL: nothing. */
extern void (*_Atomic in_keep)(struct model *m);

struct bench {
	bool found;	     /* the model of a former process */
	uint64_t connection; /* to the kernel */
	struct model *m;
	struct engine *e;
	pthread_t dispatcher;
	void *arena;
	void *journal;
};

struct verdict {
	struct err err;
	_Atomic bool told;
};

void world_reset(void);
/* Starts a daemon on the bench's memory, which stays after bench_stop(). */
void bench_start(struct bench *b);
void bench_recover(struct bench *b, bool asked_again);
void bench_stop(struct bench *b);
struct key dev_key(int i);
struct device look(struct bench *b, int dev);
void told(void *ctx, const struct err *err);
void submit(struct bench *b, int dev, const char *value, struct verdict *v);
void await(struct verdict *v);
/* Submits, waits, and returns the verdict's code. */
int set(struct bench *b, int dev, const char *value, struct verdict *v);

#endif
