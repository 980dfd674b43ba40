/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The simulated kernel: PCI functions, drivers, IOMMU groups, and the sysfs tree that shows them.
 *
 * One lock guards all of it. What the kernel does slowly or under a device lock runs in a thread
 * per call (ops.c), which may wait (sim_wait); the thread that reads FUSE requests never does.
 * What others are to notice (uevents, forgotten names) is queued under the lock and carried out
 * in that order by one thread; sim_sync() waits until it is done, before a writer is answered.
 *
 * Functions, drivers and groups live as long as the simulation, so nobody has to hold a reference
 * while he waits; whether a function is there is its "dir".
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "machine.h"
#include "tree.h"

#define PAGE_TEXT 4096
#define ADDR_LEN 16
#define GROUP_SETS 4096

struct effects;
struct fault;
struct driver;
struct sim;
struct func;

/*
 * One reaction: a file in every directory of its kind. A new one is one row and its functions.
 * show fills page and returns the length, store gets the text with a NUL behind it; both return
 * -errno to refuse, are called with the lock held, and may wait if the row says so.
 */
struct reaction {
	const char *name;
	mode_t mode;
	unsigned int flags;
	bool (*has)(const void *obj); /* NULL: all objects have it */
	ssize_t (*show)(struct sim *s, void *obj, char *page);
	int (*store)(struct sim *s, void *obj, const char *text, size_t len);
};

enum {
	ROW_LOCKED = 1 << 0,	 /* show takes the function's lock; obj is a struct func */
	ROW_SHARED = 1 << 1,	 /* many write it at once, as of a driver's files; they never go */
	ROW_LOCKED_OLD = 1 << 2, /* ROW_LOCKED where the kernel's driver_override is */
};

struct group {
	int number;
	int set; /* functions with equal sets can not be told apart by the IOMMU */
	unsigned int members;
	pid_t holder;		 /* the stand-in VMM that has it open, or 0 */
	unsigned int vfio;	 /* members that are with vfio-pci */
	struct record *vfio_rec; /* its device in class vfio, while there is one */
	struct group *next;
};

struct func {
	char addr[ADDR_LEN];
	uint32_t domain, rid; /* rid: bus << 8 | device << 3 | function */
	uint16_t vendor, device, sub_vendor, sub_device;
	uint32_t class_code;
	const struct record *rec;
	struct node *dir; /* NULL while it is not there */
	struct driver *drv;
	struct driver *rec_drv; /* the one it was recorded with */
	char modalias[80];
	char *override;
	struct group *group;
	int set;
	bool bridge;		  /* header type 1 or 2 */
	bool busy;		  /* the device lock */
	bool readable;		  /* it goes, and who waited to read it still may */
	unsigned int readers;	  /* who wait for that lock */
	int enabled;		  /* by "enable": ones less zeros */
	bool added;		  /* drivers were offered it; a rescan does so once */
	bool unplugged;		  /* only "plug" brings it back, no rescan */
	int vfio_dev;		  /* N of vfio-dev/vfioN, or -1 */
	unsigned long vfio_binds; /* how often vfio-pci took it */
	struct record *vfio_rec;

	struct func *pf; /* of a VF */
	unsigned int vf_index;
	struct func **vfs; /* of a PF: total_vfs of them, made when first needed */
	unsigned int total_vfs, num_vfs, vf_offset, vf_stride;
	uint16_t vf_device;
	bool autoprobe;

	struct func *next, *hash_next;
};

enum nth_how { NTH_FAIL, NTH_FROM, NTH_BEFORE, NTH_AFTER };

/* The n-th write from now on is refused (from: all later ones too), or waits before or after its work. */
struct nth {
	long left; /* 0: it has come, or none is awaited */
	enum nth_how how;
	int err;
	bool met;
};

struct sim {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* a device lock, a hold or a fault went away */
	struct tree *tree;
	struct machine *machine;
	struct func *funcs, **funcs_tail;
	struct func **func_hash;
	struct driver *drivers, **drivers_tail;
	struct group **group_sets, *empty_groups;
	int group_hint; /* no lower number is free */
	struct effects *effects;
	struct fault *faults;
	struct nth nth;
	struct node *bus_pci, *bus_pci_devices;
	int next_set;
	bool iommu;
	bool ending;	    /* whoever waits gives up */
	bool quiet;	    /* the initial state is built: no events */
	bool autoprobe;	    /* bus/pci/drivers_autoprobe */
	bool cdev;	    /* the kernel has VFIO device nodes */
	bool free_override; /* its driver_override needs no device lock */
	struct {
		unsigned int now, next;
	} rescans; /* tickets for the lock of "remove" and "rescan" */
	int base;  /* descriptor of DIR: dev/, proc/ */
};

/* sim.c */
struct sim *sim_new(struct machine *m);
void sim_free(struct sim *s);
/* Everything recorded, into the tree. */
int sim_build(struct sim *s);
/* Waits for "changed". -EINTR when the simulation ends. */
int sim_wait(struct sim *s);
void sim_rows(struct sim *s, struct node *dir, const struct reaction *rows, void *obj);

/* record.c: a record made here instead of read */
struct record *machine_record_new(const char *path);
int record_add(struct record *r, char type, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void machine_record_free(struct record *r);

/* device.c: a record that is no PCI function, or the common part of one */
bool device_is_pci(const struct record *r);
const char *base_name(const char *path);
void device_add(struct sim *s, const struct record *r);
/* Below dir, which is the record's device. */
void device_remove(struct sim *s, const struct record *r);
void device_fill(struct sim *s, struct node *dir, const struct record *r, bool pci);
void device_event(struct sim *s, const char *action, const struct record *r);
void device_modules(struct sim *s, const char *bus, const char *driver, struct node *dir);

/* effects.c */
int effects_start(struct sim *s, bool events);
struct fuse_session;
void effects_session(struct sim *s, struct fuse_session *se);
/* A uevent; env is "KEY=value\n" lines, SUBSYSTEM among them. */
void uevent(struct sim *s, const char *action, const char *devpath, const char *env);
/* Returns with the lock held, when all that was queued before has been carried out. */
void sim_sync(struct sim *s);

/* pci.c */
struct func *func_find(struct sim *s, const char *addr);
bool func_parse(const char *addr, uint32_t *domain, uint32_t *rid);
struct func *func_new(struct sim *s, const struct record *r);
int func_appear(struct sim *s, struct func *f);
void func_vanish(struct sim *s, struct func *f);
/* The recorded devices below f that its driver makes, or that are there whatever the driver. */
void func_children_add(struct sim *s, struct func *f, bool drivers);
void func_children_remove(struct sim *s, struct func *f, bool drivers);
/* "KEY=value" lines, as "uevent" shows them. */
size_t func_env(const struct func *f, char *buf, size_t size);
void func_event(struct sim *s, struct func *f, const char *action);
/* The device lock; -ENODEV when the function is gone by the time it is had. */
int func_lock(struct sim *s, struct func *f);
/* The same, to read it: who waits while it goes has it before its files do. */
int func_read_lock(struct sim *s, struct func *f);
void func_unlock(struct sim *s, struct func *f);
void pci_build(struct sim *s);

/* files.c */
extern const struct reaction func_rows[];

/* bus.c */
extern const struct reaction pci_bus_rows[];
void pci_rescan(struct sim *s);
/* One at a time takes functions off the bus by a file, or finds them there. */
int rescan_lock(struct sim *s);
void rescan_unlock(struct sim *s);
/* Drivers are offered what is new, not what has none. */
void pci_offer(struct sim *s, struct func *f);

/* driver.c */
struct driver *driver_find(struct sim *s, const char *name);
struct driver *driver_get(struct sim *s, const char *name);
int driver_alias(struct driver *d, const char *pattern);
const char *driver_name(const struct driver *d);
/* The rules of the PCI core; the function's lock is held. */
int driver_bind(struct sim *s, struct driver *d, struct func *f);
int driver_attach_recorded(struct sim *s, struct func *f);
void driver_probe_all(struct sim *s, struct func *f);
int driver_release(struct sim *s, struct func *f);
/* -ENOENT: no driver, or one without SR-IOV. */
int driver_sriov(const struct driver *d);
/* Does it drive a function in a group that somebody holds? */
bool driver_own_dma(const struct driver *d);
void driver_build(struct sim *s);

/* iommu.c */
void group_join(struct sim *s, struct func *f, int number);
void group_leave(struct sim *s, struct func *f);
struct group *group_find(struct sim *s, int number);
/* Calls see(g) for each until it returns true; returns that group or NULL. */
struct group *group_each(struct sim *s, bool (*see)(const struct group *g, const void *arg),
			 const void *arg);
void group_record(struct sim *s, const struct record *r, struct node *dir);

/* vfio.c */
int vfio_probe(struct sim *s, struct func *f);
int vfio_remove(struct sim *s, struct func *f);
/* The nodes of a function that vfio-pci has. */
void vfio_nodes(struct sim *s, const struct func *f);
bool vfio_is_open(const struct func *f);
/* -EPERM: the host has one of its functions, so who has opened the group gets no device of it. */
int vfio_viable(struct sim *s, int group);
int vfio_hold(struct sim *s, int group, pid_t pid, const char *comm);
int vfio_release(struct sim *s, int group);

/* sriov.c */
extern const struct reaction sriov_rows[];
void sriov_init(struct sim *s, struct func *f);
void sriov_links(struct sim *s, struct func *f);
/* The device lock of the PF is held. */
int sriov_enable(struct sim *s, struct func *pf, unsigned int n);
int sriov_disable(struct sim *s, struct func *pf);

/* faults.c: refusals, slowness and hangs on command */
bool fault_matches(struct sim *s, const struct node *n);
/* Waits or refuses as told. */
int fault_meet(struct sim *s, const struct node *n);
int fault_fail(struct sim *s, const char *path, int err, long count);
int fault_slow(struct sim *s, const char *path, long ms);
int fault_hang(struct sim *s, const char *path);
int fault_unhang(struct sim *s, const char *path);
bool fault_inside(struct sim *s, const char *path);
/* n 0: none, and who waits goes on. */
void nth_set(struct sim *s, long n, enum nth_how how, int err);
bool nth_met(const struct sim *s);
/* Around each write: is it that one? Waits or refuses as told. */
int nth_before(struct sim *s, bool *ret_mine);
int nth_after(struct sim *s);

/* plug.c: on command, as a hand would */
int plug(struct sim *s, const char *addr, const char *from);
int unplug(struct sim *s, const char *addr);
/* Config space reads ff only, or again as it was recorded. */
int func_mute(struct sim *s, const char *addr, bool on);

/* More functions than any recording has, some in domains beyond 16 bits. */
int plug_many(struct sim *s, unsigned int n);

/* facts.c: what is in dev/ and proc/ */
int facts_write(struct sim *s);
void facts_drivers(struct sim *s);
int facts_file(struct sim *s, const char *path, const char *text);
int facts_node(struct sim *s, const char *path);
int facts_link(struct sim *s, const char *path, const char *target);
void facts_remove(struct sim *s, const char *path);
/* The nodes a recorded device has. */
void facts_dev(struct sim *s, const struct record *r, bool there);

/* proc.c */
void proc_derive(struct sim *s);

/* dump.c */
int dump_tree(struct sim *s, struct node *dir, int dirfd);

#endif
