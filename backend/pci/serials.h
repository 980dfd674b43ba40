/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Serial numbers distinguish cards of one kind. They are in config space. Reading that wakes a
 * sleeping device and may hang with a sick one, so a helper reads each once. */
#ifndef PCIDEVFS_BACKEND_SERIALS_H
#define PCIDEVFS_BACKEND_SERIALS_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/ask.h"

/* Reads the PCIe Device Serial Number from this config space; 0 if it has none. Reads only the
 * chain of extended capabilities. False: it reads all ones, and nothing is known. */
bool serial_read(int config, uint64_t *ret);

/* A PCI function tells its serial in hex, or "-": it does not answer. */
ask_tell serial_tell;

#endif
