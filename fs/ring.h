/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A ring of numbered lines "seq=N ...", in memory that outlives us. Offsets count all bytes ever
 * written, so a reader's place stays good over a restart; what was dropped lies before the tail. A
 * full ring drops its older half at once, up to the end of a line: as a file that grows and is
 * rotated.
 */
#ifndef FS_RING_H
#define FS_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct region_head;
struct out;
struct ring;

#define RING_ABI 2

/* The layout's size is how many bytes of text are kept. */
int ring_open(void *region, size_t size, const struct region_head *layout, struct ring **ret,
	      struct err *err);
void ring_close(struct ring *r);

/* Writes "seq=N <rest>\n" and returns N. A line beyond a quarter of the ring is dropped (0). */
uint64_t ring_put(struct ring *r, const char *rest, size_t len);

/* Is there a line, begun at this offset or later, that ends with this text? */
bool ring_has(struct ring *r, uint64_t from, const char *end, size_t len);

uint64_t ring_seq(struct ring *r); /* of the last line */
uint64_t ring_head(struct ring *r);
/* The text that is left begins and ends at these offsets. */
struct ring_span {
	uint64_t tail, head;
	uint64_t written; /* the last line, in ns of the calendar; 0: none was */
};
struct ring_span ring_span(struct ring *r);
/* Copies from offset at; returns how much, 0 at the head; -1 when at lies before the tail: then
 * *ret_tail is where the lines that are left begin and *ret_seq the last one that is lost. */
long ring_read(struct ring *r, uint64_t at, char *buf, size_t size, uint64_t *ret_tail,
	       uint64_t *ret_seq);
/* Everything that is left; where is not NULL: only lines with this text outside of quotes. */
void ring_print(struct ring *r, const char *where, struct out *o);

#endif
