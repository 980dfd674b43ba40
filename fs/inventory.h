/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts about all devices, made from the rows. */
#ifndef FS_INVENTORY_H
#define FS_INVENTORY_H

#include <stdint.h>
#include "pcidevfs/change.h"

struct device;
struct out;
struct subject;
struct tree;

/* "<id> key=value ..." without a newline. */
void inventory_line(struct tree *t, const struct device *dev, struct out *o);
/* "driver,state": the files that these changes alter, of a device of that bus with these capabilities. */
void changed_names(int bus, uint32_t caps, change_bits bits, struct out *o);

void inventory_show(const struct subject *s, struct out *o);
void metrics_show(const struct subject *s, struct out *o);

#endif
