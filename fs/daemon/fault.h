/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Faults of the daemon for tests: PCIDEVFS_FAULT, docs/SURVIVAL.md. */
#ifndef FS_FAULT_H
#define FS_FAULT_H

#include <stdbool.h>
#include <stddef.h>

struct change;

bool fault_is(const char *name);
void fault_die(void);
void fault_hang(void);
/* For use as an observer's `changed`. */
void fault_hang_at_change(void *ctx, const struct change *changes, size_t n);

#endif
