/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chooses the vfio driver of a function: vfio-pci, or a vendor's variant that knows it better. */
#ifndef PCIDEVFS_BACKEND_VARIANT_H
#define PCIDEVFS_BACKEND_VARIANT_H

#include "pcidevfs/device.h"

/* The lines about vfio drivers of this kernel's modules.alias; "" if there are none. The caller
 * frees them. NULL: no memory. */
char *variants_load(void);

/* Pure. text: lines "alias vfio_pci:v...d...sv...sd...bc...sc...i... MODULE"; others are skipped.
 * The matching one with the fewest wildcards wins, the first among equals; else vfio-pci. */
void variant_choose(const char *text, const struct facts *f, char ret[static DRIVER_NAME]);

#endif
