/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names that the kernel or kubelet takes, whoever wrote them. Pure. */
#ifndef PCIDEVFS_VALID_H
#define PCIDEVFS_VALID_H

#include <stdbool.h>
#include <stddef.h>

#define DRIVER_NAME 48
#define RESOURCE_NAME 112

/* Can that stand between drivers/ and /bind? */
bool valid_driver(const char *name);
/* vfio-pci or a variant (mlx5_vfio_pci, nvgrace-gpu-vfio-pci, ...): all have that suffix. */
bool driver_is_vfio(const char *driver);

/* A DNS-1123 subdomain, and what may follow it and a slash. */
bool valid_domain(const char *text, size_t len);
bool valid_name(const char *text);
/* Both, with the slash. */
bool valid_qualified(const char *text);
/* Does kubelet offer it as an extended resource, and has the tree room for it? */
bool valid_resource(const char *name);

#endif
