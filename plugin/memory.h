/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What kubelet remembers on its disk (checkpoint.h), read by a thread of its own: a disk may hang,
 * and nobody who registers or is answered waits for it. Most lists of pods leave nothing to ask it,
 * so it is read only when one did.
 */
#ifndef PLUGIN_MEMORY_H
#define PLUGIN_MEMORY_H

#include <stdbool.h>

struct err;
struct memory;
struct plugin;

/* dir: kubelet's. done: what was asked for is read; in a turn of the loop. */
int memory_new(struct plugin *p, const char *dir, void (*done)(void *ctx), void *ctx,
	       struct memory **ret, struct err *err);
void memory_free(struct memory *m);

/* Of a device: does it say that no pod has it? Not before it is read. */
bool memory_forgets(void *memory, const char *device_id);
/* True: it was asked what it had not read, and is being read; done() comes. */
bool memory_read(struct memory *m);
/* Kubelet was asked, and has answered or not: what was read is old now. Returns whether it is to be
 * read before the next list. */
bool memory_drop(struct memory *m);

#endif
