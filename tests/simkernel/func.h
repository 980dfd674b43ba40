/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PCI functions: what they are, their files, VFs, how they come and go. */
#ifndef SIM_FUNC_H
#define SIM_FUNC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reaction.h"

#define ADDR_LEN 16

struct driver;
struct group;
struct record;
struct sim;

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

/* sriov.c */
extern const struct reaction sriov_rows[];
void sriov_init(struct sim *s, struct func *f);
void sriov_links(struct sim *s, struct func *f);
/* The device lock of the PF is held. */
int sriov_enable(struct sim *s, struct func *pf, unsigned int n);
int sriov_disable(struct sim *s, struct func *pf);

/* plug.c: on command, as a hand would */
int plug(struct sim *s, const char *addr, const char *from);
int unplug(struct sim *s, const char *addr);
/* Config space reads ff only, or again as it was recorded. */
int func_mute(struct sim *s, const char *addr, bool on);

/* More functions than any recording has, some in domains beyond 16 bits. */
int plug_many(struct sim *s, unsigned int n);

#endif
