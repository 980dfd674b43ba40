/* SPDX-License-Identifier: GPL-2.0-or-later */
/* USB devices: their bus (usb.c), names (usb_names.c), claim (usb_claim.c) and its steps
 * (usb_steps.c), the owner of the node (usb_node.c). */
#ifndef BACKEND_USB_H
#define BACKEND_USB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pcidevfs/facts.h"

struct backend;
struct bus_ops;
struct err;
struct ids;
struct intent;
struct sysfs;
struct uevent;

#define USB_DEVICES "bus/usb/devices"
#define USB_DRIVERS "bus/usb/drivers"
#define USB_CLASS_HUB 0x09
#define USB_INTERFACES 32 /* the most that the kernel has of a device */

extern const struct bus_ops usb_bus;

struct usb_interface {
	/* As the kernel has it behind the colon: "1.0", configuration and interface. */
	char number[8];
	uint32_t class_code;
	char driver[DRIVER_NAME]; /* of the host; "" none, or usbfs, whose users are holders */
};

/* Reads the interfaces of a device, in order. Returns how many. Takes no device lock. */
size_t usb_interfaces(const struct sysfs *s, const char *name, struct usb_interface *ret);
/* The next line of facts.interfaces at *text; false: there is none, or it cannot be read. */
bool usb_interface_next(const char **text, struct usb_interface *ret);
/* Is it a driver of the host? usbfs is that of a process that has the device open. */
bool usb_is_host(const char *driver);

/* Where a device sits: its controller's path, the root hub by its speed, the ports:
 * "0000:00/14.0/hs/1-3". "" if it does not fit. Pure. */
void usb_path(const char *target, const char *root_speed, char *ret, size_t size);

/* From usb.ids (backend/ids.h; NULL: there is none), else the device's own words. */
void usb_names(const struct ids *ids, const struct facts *f, struct names *ret);

/* Sets the owner of a claimed device's node, or gives it back: claim_ops.give_nodes. */
int usb_give_nodes(struct backend *b, const struct key *dev, struct err *err);
/* claim_ops.keep_nodes: udev sets owners anew at each event of a device. */
void usb_keep_nodes(struct backend *b, const struct key *dev);
/* Who gets the node of a claimed device: a value of usb_own. Pure. */
const char *usb_node_goes_to(const struct intent *w, const char *nodes);
/* Did it get another owner than the one that it came with, as far as is known? Pure. */
bool usb_node_was_given(const struct intent *w);

/* Values: "<interface> <driver>"; usb_rest and usb_probe, which are about all interfaces, "";
 * usb_own, who gets the node, as usb_node_goes_to() has it; USB_NODE_BACK is the owner before. */
extern const struct verb usb_unbind, usb_rest, usb_bind, usb_probe, usb_own;
#define USB_NODE_BACK "former"

#endif
