/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Does a signal that waits for a thread end or stop it? From /proc/TID/status. */
#ifndef FS_SIGMASKS_H
#define FS_SIGMASKS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* Bit N - 1 of a mask is signal N. */
enum sigmask { MASK_THREAD, MASK_PROCESS, MASK_BLOCKED, MASK_IGNORED, MASK_CAUGHT, SIGMASKS };

struct sigmasks {
	uint64_t of[SIGMASKS];
	unsigned int seen; /* a bit for each enum sigmask */
};

/* Text of /proc/TID/status, of any length. Lines that make no sense are left out. */
void sigmasks_read(FILE *status, struct sigmasks *ret);
/* True: a signal is pending that the thread neither blocks nor ignores, and either nothing catches
 * it and its default is to end or to stop, or it asks a program to end (SIGINT, SIGTERM). False
 * also if a mask is missing. */
bool sigmasks_end(const struct sigmasks *m);
/* Likewise, of a thread that exists. False also if it cannot be seen (tid 0: another pid
 * namespace). */
bool sigmasks_end_thread(pid_t tid);

#endif
