/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FS_PRIORITY_H
#define FS_PRIORITY_H

/* The calling thread answers for the kernel from now on: whoever uses the tree sleeps until it has. It gets
 * the CPU before ordinary work, for short times; what it starts, threads too, does not. Does nothing where
 * the administrator has chosen a priority, and without the right to. */
void priority_raise(void);

#endif
