/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which vfio driver takes a function: vfio-pci, or a vendor's variant that knows more of it. */
#ifndef PCIDEVFS_BACKEND_VARIANT_H
#define PCIDEVFS_BACKEND_VARIANT_H

#include "pcidevfs/device.h"

/* vfio-pci or a vendor's variant of it (mlx5_vfio_pci, nvgrace-gpu-vfio-pci, ...): all end so. */
bool driver_is_vfio(const char *driver);

/* The lines of this kernel's modules.alias that tell of vfio drivers; "" when there are none. NULL:
 * no memory. The caller frees. */
char *variants_load(void);

/* Pure. text: lines "alias vfio_pci:v...d...sv...sd...bc...sc...i... MODULE"; others are passed
 * over. The one with the fewest wildcards that fits wins, the first among equals; else vfio-pci. */
void variant_choose(const char *text, const struct facts *f, char ret[static DRIVER_NAME]);

#endif
