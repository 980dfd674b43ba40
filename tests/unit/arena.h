/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory for a model, as if it outlived a process. */
#ifndef UNIT_ARENA_H
#define UNIT_ARENA_H

#include <stdbool.h>

struct model;

/* model_arena_size() bytes; the caller may unmap it. */
void *new_arena(void);
struct model *model_on(void *arena, bool want_found);

#endif
