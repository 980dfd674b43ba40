/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verdicts of writes. If the kernel sends a write again because its answer was lost with a
 * process, it is answered and not executed twice. Thread-safe. */
#ifndef FS_JOURNAL_H
#define FS_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct journal;
struct region_head;

#define JOURNAL_SLOTS 4096
#define UNIQUE_RESENT (1ull << 63) /* FUSE_UNIQUE_RESEND: set in resent requests */

extern const struct region_head journal_layout;
int journal_open(void *region, size_t size, struct journal **ret, struct err *err);
void journal_close(struct journal *j);

/* True: the write has its verdict in *ret_result (bytes written, or -errno; -EBUSY if thousands
 * already wait for theirs). False: execute it, call journal_end() with the slot, then answer. Each
 * slot must be ended while the process lives; those of a dead process count as never begun. */
bool journal_begin(struct journal *j, uint64_t unique, uint32_t *ret_slot, int *ret_result);
void journal_end(struct journal *j, uint32_t slot, int result);

#endif
