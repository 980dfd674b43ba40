/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names by which people know devices, on a command line or in a layout. */
#ifndef CLIENT_NAME_H
#define CLIENT_NAME_H

#include "inventory.h"

#define TARGET_DIR 96

/* The directory of the device with this id, below the tree. False: it is no id. */
bool device_dir(const char *id, char ret[static TARGET_DIR]);

/* As kind_name() of the daemon has them. */
#define DEVICE_KINDS "pci sriov-gpu sriov-nic sriov vf vgpu mdev usb hub bridge"
bool is_device_kind(const char *text);

/* A device that somebody has named. */
struct target {
	const struct tree_device *device; /* NULL: a VF that does not exist yet */
	char id[96];	 /* for lines of ctl: "0000:05:02.0", "0000:02:00.0/virtfn2" */
	char dir[TARGET_DIR]; /* of the device below the tree: "devices/0000:05:02.0" */
	char within[24]; /* "" or "virtfn2/": the VF, in a line of the ctl in dir */
};

struct targets {
	struct target *v;
	size_t n, cap;
};

/* Adds the device of this name: address (also a short one), port, UUID, interface, disk, graphics
 * card, serial number, or claims/NAME, which is all that NAME holds. Returns 0, or -ENODEV with a
 * sentence that has the candidates. */
int target_find(const struct tree_inventory *inv, const char *name, struct targets *t,
		struct err *err);
/* Likewise the claimed device that had this interface, disk or card last, as the text of events
 * tells, which is overwritten. */
int target_find_former(const struct tree_inventory *inv, char *events, const char *name,
		       struct targets *t, struct err *err);
/* Likewise, of a device of the inventory. */
int target_add(struct targets *t, const struct tree_device *d, struct err *err);
void targets_free(struct targets *t);

#endif
