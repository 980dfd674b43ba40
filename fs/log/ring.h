/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A ring of numbered lines "seq=N ...", in memory that outlives the process. Offsets count all
 * bytes ever written, so a reader's place stays valid over a restart; dropped lines lie before the
 * tail. A full ring drops its older half at once, up to the end of a line, like a file that is
 * rotated. If lines have owners, the newest lines of each owner stay, up to the owner's share, even
 * if they are in the older half.
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

#define RING_ABI 3

/* The layout's size is the number of bytes of text that are kept. */
int ring_open(void *region, size_t size, const struct region_head *layout, struct ring **ret,
	      struct err *err);
void ring_close(struct ring *r);

/* Who wrote a line, and how many bytes of it stay while others write. */
typedef size_t ring_share(const char *line, size_t len, uint64_t *ret_owner);
void ring_set_share(struct ring *r, ring_share *share);

/* Writes "seq=N <rest>\n" and returns N. A line longer than a quarter of the ring is lost (0). */
uint64_t ring_put(struct ring *r, const char *rest, size_t len);

/* Is there a line that begins at this offset or later and ends with this text? */
bool ring_has(struct ring *r, uint64_t from, const char *end, size_t len);

/* These two wait for nobody; both as of one moment are in a span. */
uint64_t ring_seq(struct ring *r); /* of the last line */
uint64_t ring_head(struct ring *r);
/* Offsets of the text that is left. */
struct ring_span {
	uint64_t tail, head;
	/* What lies before it lay elsewhere until the tail came where it is: a place there is that
	 * of who began to read since. */
	uint64_t moved;
	uint64_t seq;	  /* of the last line */
	uint64_t written; /* its time, ns of the calendar; 0: none */
};
struct ring_span ring_span(struct ring *r);
/* Copies from offset at. Returns the length, 0 at the head; -1 if at lies before the tail:
 * *ret_tail is then the start of the lines that are left and *ret_seq the last lost one. */
long ring_read(struct ring *r, uint64_t at, char *buf, size_t size, uint64_t *ret_tail,
	       uint64_t *ret_seq);
/* Prints all that is left; where not NULL: only lines with this text outside of quotes. */
void ring_print(struct ring *r, const char *where, struct out *o);
/* What follows this text in the line, outside of quotes, which users fill; NULL: not found. */
const char *ring_field(const char *line, size_t len, const char *field);

#endif
