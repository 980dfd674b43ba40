/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FS_PRIORITY_H
#define FS_PRIORITY_H

/*
 * How urgent the calling thread is; what it starts is ordinary again. Each does nothing where the
 * administrator has chosen a priority, and the first does nothing without the right to.
 */

/* Whoever uses the tree sleeps until this is done: the holder, and a serving process that begins.
 * Both compute for milliseconds at most before they wait again, or serve. */
void priority_raise(void);
/* Answers for the kernel. Not before others, or the close of a file, for which nobody waits, would
 * take the CPU from who closes it; but for short times, so that it comes soon after who used the
 * CPU for long. */
void priority_serve(void);
/* Nobody sleeps for it: what answers comes before it. */
void priority_lower(void);

#endif
