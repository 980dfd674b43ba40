/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A device that drivers bind to: what those of every bus have. What a bus adds begins with it, as
 * struct func does (func.h). Devices that are only shown are records (device.h).
 */
#ifndef SIM_DEV_H
#define SIM_DEV_H

#include <stdbool.h>

struct bus;
struct driver;
struct group;
struct node;
struct record;
struct sim;

struct dev {
	struct bus *bus;
	const char *name; /* on the bus */
	const struct record *rec;
	struct node *dir; /* NULL while it is not there */
	struct driver *drv;
	struct driver *rec_drv; /* the one it was recorded with */
	char modalias[80];
	char *override;
	struct group *group;
	int set;
	bool busy;	      /* the device lock */
	bool readable;	      /* it goes, and who waited to read it still may */
	unsigned int readers; /* who wait for that lock */
	bool added;	      /* drivers were offered it; a rescan does so once */
	bool unplugged;	      /* only "plug" brings it back, no rescan */
	struct dev *next;     /* of its bus, parents first */
};

/* The last of the bus from now on; it is not there yet. */
void dev_init(struct sim *s, struct bus *bus, struct dev *d, const struct record *r);
/* Its directory and what each device has in it; the bus adds its own and tells by dev_event(). */
int dev_appear(struct sim *s, struct dev *d);
/* The same backwards, with the event. The device lock is held, and no driver has it. */
void dev_vanish(struct sim *s, struct dev *d);
void dev_event(struct sim *s, struct dev *d, const char *action);

/* The device lock; -ENODEV when the device is gone by the time it is had. */
int dev_lock(struct sim *s, struct dev *d);
/* The same, to read it: who waits while it goes has it before its files do. */
int dev_read_lock(struct sim *s, struct dev *d);
void dev_unlock(struct sim *s, struct dev *d);

/* The recorded devices below d that its driver makes, or that are there whatever the driver. */
void dev_children_add(struct sim *s, struct dev *d, bool drivers);
void dev_children_remove(struct sim *s, struct dev *d, bool drivers);

#endif
