/* SPDX-License-Identifier: GPL-2.0-or-later */
/* USB: devices and their interfaces, which drivers bind to. */
#ifndef SIM_USB_H
#define SIM_USB_H

#include <stdbool.h>

#include "dev.h"

struct record;
struct sim;

#define PER_BUS 128
#define USB_MAJOR 189
/* The kernel has 64 buses: numbers from there on never lead to real hardware. */
#define FIRST_MINOR (64 * PER_BUS)

struct usb {
	struct dev dev; /* must be first; of a device or an interface */
	unsigned int busnum, devnum;
	bool authorized;
	struct driver *promised; /* that already has the interface when it comes */
};

static inline struct usb *usb_of(struct dev *d)
{
	return (struct usb *)d;
}

static inline unsigned int usb_minor(const struct usb *u)
{
	return FIRST_MINOR + (u->busnum - 1) * PER_BUS + u->devnum - 1;
}

extern const struct bus_rules usb_rules;

/* "usb1", "1-1.2" and "1-1.2:1.0"; and the last of them alone. */
bool usb_is_name(const char *text);
bool usb_is_interface(const char *text);
/* Is it recorded as such a device or interface? */
bool usb_is_record(const struct record *r);

struct usb *usb_find(struct sim *s, const char *name);
/* A property (E) or attribute (A) of its record, or "". */
const char *usb_text(const struct dev *d, char type, const char *name);
/* Of an interface: its class, two digits; whether the data of the device fits another driver too;
 * the next and the former one of its device, or NULL. */
bool usb_is_class(const struct dev *d, const char *class);
bool usb_has_subset(const struct dev *d);
struct usb *usb_next(struct dev *d);
struct usb *usb_before(struct dev *d);

/* The generic driver makes a device's interfaces; they go with it. */
int usb_configure(struct sim *s, struct dev *d);
int usb_unconfigure(struct sim *s, struct dev *d);
/* The hub's interface is losing its driver: all on its ports goes. */
void usb_lose_ports(struct sim *s, struct dev *interface);

/* The device comes with its node and its number, and meets its driver; goes. */
void usb_add(struct sim *s, const struct record *r);
void usb_remove(struct sim *s, const struct record *r);
/* Makes the nodes of those that are there at the start. */
void usb_nodes(struct sim *s);

/* By command: with all that is below it, a hub's devices too. It gets a new number. from: it is a
 * copy of that one, on the port that its name tells. */
int usb_plug(struct sim *s, const char *name, const char *from);
int usb_unplug(struct sim *s, const char *name);

#endif
