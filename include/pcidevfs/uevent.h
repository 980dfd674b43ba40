/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A kernel uevent, as far as we use it. The parser is pure and takes anything; the receiver must
 * check that the message came from the kernel (uevent_trusted). */
#ifndef PCIDEVFS_UEVENT_H
#define PCIDEVFS_UEVENT_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct key;

#define UEVENT_MAX 8192 /* the kernel's own limit is 2048 of variables and the path */

/* Fields point into the parsed buffer; "" when the message has none. */
struct uevent {
	const char *action; /* "add", "change", "remove", "bind", ... */
	const char *devpath;
	const char *subsystem;
	const char *slot; /* PCI_SLOT_NAME */
	uint64_t seqnum; /* 0: none */
};

/* buf holds len bytes; the last becomes a NUL if it is not one. Returns -EINVAL if it is not a
 * kernel uevent: no "action@devpath" head, or an ACTION or DEVPATH that contradicts it. */
int uevent_parse(char *buf, size_t len, struct uevent *ret);

/* Is it the kernel's broadcast, not a process that sends to our port or group? cred may be NULL. */
bool uevent_trusted(const struct sockaddr_nl *from, const struct ucred *cred);

/* The PCI function that it is about: PCI_SLOT_NAME, else the last PCI address in the path. */
bool uevent_function(const struct uevent *ev, struct key *ret);
/* Likewise the USB device on whose interface it is. */
bool uevent_usb(const struct uevent *ev, struct key *ret);
/* Has the device with this name gone, and not only a part of it, as an interface of a USB device? */
bool uevent_removes(const struct uevent *ev, const char *name);

#endif
