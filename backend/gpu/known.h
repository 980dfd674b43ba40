/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a directory of a vGPU type tells besides how many are left: name and description, which stay
 * as they are as long as it exists. The kernel gives no inode of sysfs twice. */
#ifndef BACKEND_GPU_KNOWN_H
#define BACKEND_GPU_KNOWN_H

#include <stdbool.h>
#include <stdint.h>

struct known_types;
struct vgpu_type;

/* NULL: no memory. */
struct known_types *known_new(void);
/* Fills in the type with this id whose directory has this inode; false: it must be read. */
bool known_find(struct known_types *known, uint64_t inode, struct vgpu_type *type);
/* Without memory it will be read again. */
void known_add(struct known_types *known, uint64_t inode, const struct vgpu_type *type);
void known_free(struct known_types *known);

#endif
