/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FS_PRIORITY_H
#define FS_PRIORITY_H

/* The calling thread, and what it starts, answers for the kernel from now on: whoever uses the tree sleeps
 * until it has. It gets the CPU before ordinary work, for short times. Does nothing where the
 * administrator has chosen a priority, and without the right to. */
void priority_raise(void);
/* The calling thread, and what it starts, is nothing that anybody sleeps for: it gets no more than others,
 * still in short times, since it runs beside what answers. */
void priority_lower(void);

#endif
