/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MODEL_DIFF_H
#define MODEL_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "pcidevfs/change.h"

struct device;

/* The change bits of the differences between two records: of their fields, and of derived texts. */
change_bits device_diff(const struct device *a, const struct device *b);
/* A hash of all fields that have one of these bits. */
uint64_t device_digest(const struct device *dev, change_bits bits);
/* A hash of all fields' places and lengths, whatever the order of the rows. */
uint64_t device_layout(void);
/* Does a row cover this byte of struct device? Changes of other bytes would never be published. */
bool device_diff_knows(size_t offset);

#endif
