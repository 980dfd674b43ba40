/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the host's driver tells of a card by which it is known again. */
#ifndef PCIDEVFS_BACKEND_HOST_SERIAL_H
#define PCIDEVFS_BACKEND_HOST_SERIAL_H

#include <stdbool.h>

#include "pcidevfs/facts.h"

struct sysfs;

/* at: with a sysfs root at the device's directory. Leaves ret as it is if there is none. */
void host_serial_nvme(const struct sysfs *at, char ret[static HOST_SERIAL]);
/* The permanent address: others are set by programs. */
void host_serial_net(const struct sysfs *at, char ret[static HOST_SERIAL]);

/* Blanks around it are dropped, and what is not printable becomes a question mark. False and "":
 * nothing is left that tells two cards apart. */
bool host_serial_clean(const char *text, char ret[static HOST_SERIAL]);

#endif
