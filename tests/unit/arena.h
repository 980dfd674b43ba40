/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory for a model, as if it outlived a process. */
#ifndef UNIT_ARENA_H
#define UNIT_ARENA_H

#include <stdbool.h>

#include "pcidevfs/key.h"

struct device;
struct model;

/* model_arena_size() bytes; the caller may unmap it. */
void *new_arena(void);
struct model *model_on(void *arena, bool want_found);
struct key pci_key(const char *name);
/* The edit of a NIC, made if it is not there; the lock is held. */
struct device *put_nic(struct model *m, const char *name);

#endif
