/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts about all devices, made from the rows. */
#ifndef FS_INVENTORY_H
#define FS_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "pcidevfs/change.h"

struct attr;
struct device;
struct key;
struct model;
struct out;
struct subject;
struct tree;

/* A file's text as a value: one line; of a link the last name. It lies in text, whose room is used
 * again. NULL: the text is empty, or there is no memory. */
const char *row_value(const struct attr *row, const struct subject *s, struct out *text);
/* "<id> key=value ..." without a newline. */
void inventory_line(struct tree *t, const struct device *dev, struct out *o);
/* "driver,state": files that these changes alter, for a device of that bus and these
 * capabilities. */
void changed_names(int bus, uint32_t caps, change_bits bits, struct out *o);

/* Calls take for a copy of each device, sorted by id, so that nobody waits for the lock while lines
 * are made. Returns the number of devices. *ret_failed is set if memory ran out. */
size_t each_device(struct model *m, void (*take)(const struct device *dev, void *ctx), void *ctx,
		   bool *ret_failed);
/* Appends a room (FACT_ROOM) of the device, at this offset in struct device. */
void device_text(struct model *m, const struct key *dev, size_t at, struct out *o);
/* The next line of a text as in profiles, which is cut; false: there is none. */
struct type_line {
	const char *name, *id;
	uint64_t available;
};
bool type_next(char **text, struct type_line *ret);
void inventory_show(const struct subject *s, struct out *o);
/* overview.c */
void overview_show(const struct subject *s, struct out *o);
/* metrics.c */
void metrics_show(const struct subject *s, struct out *o);

#endif
