/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of inventory, as devices with keys. */
#ifndef CLIENT_INVENTORY_H
#define CLIENT_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>

#include "pcidevfs/pair.h"

#define INV_NVIDIA "0x10de" /* vendor of a PCI function */

struct err;

/* All text is clean (str_clean()): it can be shown. */
struct tree_device {
	const char *id; /* "0000:05:02.0", "usb/1-1", "mdev/<uuid>" */
	struct pair *pairs;
	size_t n;
	char *own; /* of watch: what id and pairs point into */
	bool seen; /* likewise: since the inventory began */
};

struct tree_inventory {
	char *text; /* the pairs point into it */
	struct pair *pairs;
	struct tree_device *devices;
	size_t n, cap;
	bool sorted; /* the devices are, by id, as the daemon writes them */
	char generation[24];
};

/* Parses "ID key=value ...", in place; d->pairs has room for all. Returns 0 or -EBADMSG. */
int device_parse(char *line, struct tree_device *d, struct pair *pairs);
/* Parses an inventory, of whose text it becomes the owner. Returns 0 or -errno with a sentence. */
int tree_inventory_parse(char *text, struct tree_inventory *ret, struct err *err);
void tree_inventory_free(struct tree_inventory *inv);

/* The device with this id; NULL: there is none. */
const struct tree_device *device_by_id(const struct tree_inventory *inv, const char *id);

/* Is this the class of a GPU, as NVIDIA's programs count them? */
bool class_is_gpu(const char *class);

/* What a file of the tree has, to be shown: clean line by line, without the last newline. */
void tree_text_clean(char *text);

/* The value; NULL: the device has no such key. */
const char *device_get(const struct tree_device *d, const char *key);
/* Likewise; "" where it has none, or reads none. */
const char *device_says(const struct tree_device *d, const char *key);
/* Is it a VF of the device with this id, or made of it? */
bool device_is_of(const struct tree_device *d, const char *id);

#endif
