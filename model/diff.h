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
/* Stores all of it but the unused ends of its texts. Returns the length, which is at
 * most its own. */
size_t device_pack(const struct device *dev, char *buf);
/* False: the text is not what device_pack() makes. */
bool device_unpack(struct device *dev, const char *buf, size_t len);
/* Are all flags, enums, texts and keys what this program could have written? For a record from
 * memory that others could write. */
bool device_valid(const struct device *dev);

/* A field of struct device: changes of bytes that no row covers would never be published. */
struct device_field {
	size_t offset, size;
	change_bits bit;
	bool text;
	const char *name, *type; /* type: of a number */
};
/* The i-th, in the order in which they are packed; NULL behind the last one. */
const struct device_field *device_field(size_t i);

#endif
