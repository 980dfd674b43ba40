/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The simulated kernel: PCI functions, drivers, IOMMU groups, and the sysfs tree that shows
 * them.
 *
 * One lock guards everything. Calls that are slow in the kernel or take a device lock run in a
 * thread each (ops.c), which may wait (sim_wait); the thread that reads FUSE requests never does.
 * Effects for others (uevents, forgotten names) are queued under the lock and executed in that
 * order by one thread; sim_sync() waits for it, before a writer is answered.
 *
 * Devices, drivers and groups live as long as the simulation, so a waiting thread needs no
 * reference; "dir" tells whether a device exists.
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include "bus.h"
#include "faults.h"
#include "machine.h"
#include "reaction.h"
#include "tree.h"

struct effects;
struct func;
struct gpu_options;
struct group;

struct sim {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* signals the end of a device lock, a hold or a fault */
	struct tree *tree;
	struct machine *machine;
	struct bus pci;
	struct bus usb;
	struct bus mdev;	 /* if there are vGPUs of that world */
	struct gpu_options *gpu; /* vgpu.h; NULL: its GPUs have no vGPUs */
	struct func **func_hash;
	struct group **group_sets, *empty_groups;
	int group_hint; /* no lower number is free */
	struct effects *effects;
	struct peer *peers; /* of rtnetlink.c */
	struct fault *faults;
	struct nth nth;
	int next_set;
	bool iommu;
	bool ending;	    /* waiting threads give up */
	bool quiet;	    /* while the initial state is built: no events */
	bool cdev;	    /* the kernel has VFIO device nodes */
	unsigned int log;   /* room of the kernel's log at dev/kmsg; 0: there is none */
	bool free_override; /* its driver_override needs no device lock */
	struct {
		unsigned int now, next;
	} rescans; /* tickets for the lock of "remove" and "rescan" */
	int base;  /* descriptor of DIR, with dev/ and proc/ */
};

/* sim.c */
struct sim *sim_new(struct machine *m);
void sim_free(struct sim *s);
/* Builds the tree of everything recorded. */
int sim_build(struct sim *s);
/* Waits for `changed`. Returns -EINTR when the simulation ends. */
int sim_wait(struct sim *s);
/* Sleeps without the lock. */
void sim_sleep(struct sim *s, long ms);

/* dump.c */
int dump_tree(struct sim *s, struct node *dir, int dirfd);

#endif
