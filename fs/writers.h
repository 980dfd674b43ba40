/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Those who wait for the verdict of a write, and the signals that they get meanwhile.
 *
 * A write is withdrawn for a signal that ends or stops its writer, not for one that the writer
 * catches and lives on. The kernel tells of a signal once for each request and does not say which
 * one came. So who got one is looked at then, and ten times a second as long as the write waits.
 * Thread-safe; the looks are made on a thread of their own.
 */
#ifndef FS_WRITERS_H
#define FS_WRITERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct writers;

/* withdraw is called at most once for a write, without locks; the write may have its verdict by
 * then. */
int writers_new(void (*withdraw)(void *ctx, uint64_t tag), void *ctx, struct writers **ret,
		struct err *err);
/* Nobody is looked at any more. */
void writers_stop(struct writers *w);
void writers_free(struct writers *w);

/* The thread tid waits for the verdict of a write with this slot of the journal. tag: not 0. */
void writers_begin(struct writers *w, uint32_t slot, uint64_t tag, pid_t tid);
/* It got a signal. Waits for nobody. */
void writers_signal(struct writers *w, uint32_t slot);
/* Its verdict is known. Call it before the slot is free. */
void writers_end(struct writers *w, uint32_t slot);
/* Was this write withdrawn? Ask it after the step behind which withdraw() finds the write. */
bool writers_withdrew(struct writers *w, uint32_t slot, uint64_t tag);

#endif
