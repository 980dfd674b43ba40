/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The common part of a device that drivers bind to. A bus's own struct begins with it, for example
 * struct func (func.h). Devices that are only shown are records (device.h). */
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
	struct node *dir; /* NULL: the device does not exist now */
	struct driver *drv;
	struct driver *rec_drv; /* the one it was recorded with */
	char modalias[80];
	char *override;
	struct group *group;
	int set;
	int vfio_dev;		 /* N of vfio-dev/vfioN, or -1 */
	struct record *vfio_rec; /* of that */
	bool busy;		 /* the device lock */
	bool readable;		 /* it is going, and readers that waited may finish */
	unsigned int readers;	 /* number of readers waiting for that lock */
	bool added;		 /* was offered to drivers; a rescan does so once */
	bool unplugged;		 /* only "plug" brings it back, not a rescan */
	struct dev *next;	 /* of its bus, parents first */
};

/* Appends it to the bus; it does not exist yet. */
void dev_init(struct sim *s, struct bus *bus, struct dev *d, const struct record *r);
/* Makes its directory with the common files; the bus adds its own and calls dev_event(). */
int dev_appear(struct sim *s, struct dev *d);
/* Reverses that and sends the event. The device lock must be held, and no driver bound. */
void dev_vanish(struct sim *s, struct dev *d);
void dev_event(struct sim *s, struct dev *d, const char *action);
/* Likewise, with one more "KEY=value\n", or "". */
void dev_event_with(struct sim *s, struct dev *d, const char *action, const char *more);

/* Takes the device lock; -ENODEV if the device is gone by then. */
int dev_lock(struct sim *s, struct dev *d);
/* Likewise for reading: a reader that waits while the device goes gets it before its files go. */
int dev_read_lock(struct sim *s, struct dev *d);
void dev_unlock(struct sim *s, struct dev *d);

/* The recorded devices below d: those made by its driver, or those that always exist. */
void dev_children_add(struct sim *s, struct dev *d, bool drivers);
void dev_children_remove(struct sim *s, struct dev *d, bool drivers);

#endif
