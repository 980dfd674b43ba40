/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MODEL_DIFF_H
#define MODEL_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "pcidevfs/change.h"

struct device;

/* Which change bits tell the two records apart: those of their fields, and of what follows from
 * these. */
change_bits device_diff(const struct device *a, const struct device *b);
/* One number for all fields that have one of these bits: as long as none of them changes it stays
 * the same. */
uint64_t device_digest(const struct device *dev, change_bits bits);
/* Where each field lies and how long it is, as one number; the order of the rows does not
 * matter. */
uint64_t device_layout(void);
/* Does a row cover this byte of struct device? What none covers would never be published. */
bool device_diff_knows(size_t offset);

#endif
