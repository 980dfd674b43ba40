/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What directories of sysfs tell for as long as they exist: that of a vGPU type its name and
 * description, a function's its ids. The kernel gives no inode of sysfs twice. */
#ifndef BACKEND_KNOWN_H
#define BACKEND_KNOWN_H

#include <stdbool.h>
#include <stdint.h>

struct known;
struct vgpu_type;

/* NULL: no memory. */
struct known *known_new(void);
/* Fills in the type with this id whose directory has this inode; false: it must be read. */
bool known_find(struct known *known, uint64_t inode, struct vgpu_type *type);
/* Without memory it will be read again. */
void known_add(struct known *known, uint64_t inode, const struct vgpu_type *type);
/* Of a function, without its class: a quirk of the kernel may change that later. */
struct pci_ids {
	uint16_t vendor, device, subvendor, subdevice;
	uint8_t revision;
};
bool known_ids(struct known *known, uint64_t inode, struct pci_ids *ret);
void known_add_ids(struct known *known, uint64_t inode, const struct pci_ids *ids);
void known_free(struct known *known);

#endif
