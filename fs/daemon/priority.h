/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FS_PRIORITY_H
#define FS_PRIORITY_H

/* The priority of the calling thread; its children are ordinary again. Each function does nothing
 * if the administrator has chosen a priority, and the first does nothing without the right to. */

/* For the holder, and for a serving process that starts: all users of the tree wait for these. Both
 * compute for milliseconds at most before they wait again, or serve. */
void priority_raise(void);
/* For a process that answers the kernel. It must not run before others: nobody waits for the close
 * of a file, so it would take the CPU from the closer. Short slices make it run soon after a thread
 * that used the CPU for long. */
void priority_serve(void);
/* For work that nobody waits for: answers come first. */
void priority_lower(void);

#endif
