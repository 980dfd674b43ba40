/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A bus with drivers, and its rules of binding. A new bus is a new struct bus_rules. */
#ifndef SIM_BUS_H
#define SIM_BUS_H

#include <stdbool.h>
#include <stddef.h>

struct dev;
struct node;
struct reaction;
struct sim;
struct driver;

/* Properties of drivers known by name. */
struct driver_kind {
	const char *name;
	bool sriov;	/* sriov_numvfs may be written */
	bool keeps_vfs; /* its VFs stay after it is unbound from the PF */
	bool own_dma;	/* binds in a group that somebody holds */
	bool builtin;	/* exists even if no recording names it */
	bool attaches;	/* is probed for the functions it was recorded with, too */
	int (*probe)(struct sim *s, struct dev *d);
	int (*remove)(struct sim *s, struct dev *d);
	/* These may be NULL. May the number of VFs become n? Positive: success is told, and no VF
	 * is made. */
	int (*sriov_may)(struct sim *s, struct dev *d, unsigned int n);
	void (*bound)(struct sim *s, struct dev *d); /* before its event */
};

struct bus_rules {
	const char *name;
	const struct reaction *rows;	    /* of bus/NAME, besides those of every bus */
	const struct reaction *driver_rows; /* of each driver, likewise */
	const struct driver_kind *drivers;  /* the last one, "", is for all others */
	bool (*is_name)(const char *text);
	struct dev *(*find)(struct sim *s, const char *name);
	/* "KEY=value" lines for uevents, besides DRIVER and MODALIAS; before DRIVER, NULL: none. */
	size_t (*env_before)(struct dev *d, char *buf, size_t size);
	size_t (*env)(struct dev *d, char *buf, size_t size);
	bool (*has_id)(const struct driver *drv, struct dev *d); /* by an id written to new_id */
	bool (*is_shut)(struct dev *d); /* to drivers that no override names */
	bool own_groups;		/* a driver makes a device's IOMMU group */
};

struct bus {
	const struct bus_rules *rules;
	struct node *dir, *devices;
	struct dev *devs, **devs_tail;
	struct driver *drivers, **drivers_tail;
	bool autoprobe; /* drivers_autoprobe */
};

struct driver {
	const struct driver_kind *kind;
	struct bus *bus;
	struct driver *next;
	struct node *dir;
	char **aliases;
	size_t n_aliases;
	struct dynamic_id *ids; /* format of the bus */
	char name[];
};

/* bus.c */
int bus_build(struct sim *s, struct bus *bus, const struct bus_rules *rules);
/* The existing device named by text, up to the end of its line. */
struct dev *bus_named(struct sim *s, struct bus *bus, const char *text);
/* Offers a device without a driver to all drivers. */
void bus_offer(struct sim *s, struct dev *d);

/* driver.c */
struct driver *driver_find(const struct bus *bus, const char *name);
/* Makes the driver if it does not exist. */
struct driver *driver_get(struct sim *s, struct bus *bus, const char *name);
int driver_alias(struct driver *drv, const char *pattern);
/* The device's lock must be held. */
int driver_probe(struct sim *s, struct driver *drv, struct dev *d);
void driver_probe_all(struct sim *s, struct dev *d);
int driver_release(struct sim *s, struct dev *d);
void driver_link(struct sim *s, struct driver *drv, struct dev *d);
/* Offers the driver all matching devices without a driver. */
void driver_attach(struct sim *s, struct driver *drv);

#endif
