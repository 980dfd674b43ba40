/* SPDX-License-Identifier: GPL-2.0-or-later */
/* USB: devices and their interfaces, which drivers bind to. */
#ifndef SIM_USB_H
#define SIM_USB_H

#include <stdbool.h>

struct record;
struct sim;

extern const struct bus_rules usb_rules;

/* "usb1", "1-1.2" and "1-1.2:1.0"; and the last of them alone. */
bool usb_is_name(const char *text);
bool usb_is_interface(const char *text);
/* Is it recorded as such a device or interface? */
bool usb_is_record(const struct record *r);

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
