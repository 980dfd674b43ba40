/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The devices of the tree as lines of inventory, sorted by id. The tables (kinds.h) name the
 * keys. */
#ifndef SYNC_INVENTORY_H
#define SYNC_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct inv_dev {
	char *id;    /* "0000:05:00.0" */
	char *pairs; /* key, NUL, value, NUL, ... */
	size_t len;
	uint32_t *keys; /* where each of them begins, sorted by key */
	size_t n;
	bool here; /* seen since the inventory began */
};

struct inventory {
	struct inv_dev **v;
	size_t n, cap;
};

/* The functions of a mirror's table (client/mirror.h), which is a struct inventory. */
/* Returns 0; -EINVAL: not a line of the tree; -ENOMEM. */
int inventory_take(void *table, const char *id, char *pairs);
void inventory_drop(void *table, const char *id);
void inventory_begin(void *table);
void inventory_settle(void *table);
void inventory_free(void *table);

const struct inv_dev *inventory_find(const struct inventory *inv, const char *id);
/* Never NULL: "" if the tree says none or has no such key for this device. */
const char *dev_get(const struct inv_dev *d, const char *key);
bool dev_has(const struct inv_dev *d, const char *key);
bool dev_is_vgpu(const struct inv_dev *d);
/* An operation runs on it: what is read in its midst holds for its time only. */
bool dev_is_busy(const struct inv_dev *d);
/* Are both in one IOMMU group? */
bool dev_is_one_group(const struct inv_dev *a, const struct inv_dev *b);

#endif
