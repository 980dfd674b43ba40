/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MODEL_DIFF_H
#define MODEL_DIFF_H

#include <stdint.h>

struct device;

/* Which change bits tell the two records apart. */
uint32_t device_diff(const struct device *a, const struct device *b);

#endif
