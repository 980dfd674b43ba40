/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which writes have got their verdict, so that one whose answer was lost with its process, and
 * which the kernel sends again, is answered and not carried out twice. Thread-safe.
 */
#ifndef FS_JOURNAL_H
#define FS_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct journal;
struct region_head;

#define UNIQUE_RESENT (1ull << 63) /* FUSE_UNIQUE_RESEND: the kernel sends this one again */

extern const struct region_head journal_layout;
int journal_open(void *region, size_t size, struct journal **ret, struct err *err);
void journal_close(struct journal *j);

/* True: the write has its verdict, *ret_result (bytes written, or -errno; -EBUSY when thousands
 * wait for theirs already). False: carry it out, then call journal_end() with the slot, then
 * answer. Every slot gets its end while the process lives; what a dead one left running is as if it
 * never began. */
bool journal_begin(struct journal *j, uint64_t unique, uint32_t *ret_slot, int *ret_result);
void journal_end(struct journal *j, uint32_t slot, int result);

#endif
