/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads kubelet's checkpoint (checkpoint.h) on a thread of its own: the disk may hang, and neither
 * registration nor answers may wait for it. It is read only if a list of pods raised a question. */
#ifndef PLUGIN_MEMORY_H
#define PLUGIN_MEMORY_H

#include <stdbool.h>

struct err;
struct memory;
struct plugin;

/* dir: kubelet's. done: called in a turn of the loop when the file is read. */
int memory_new(struct plugin *p, const char *dir, void (*done)(void *ctx), void *ctx,
	       struct memory **ret, struct err *err);
void memory_free(struct memory *m);

/* Does the checkpoint say that no pod has the device? If not read yet: false, and a question. */
bool memory_forgets(void *memory, const char *device_id);
/* Starts to read if there was a question. Returns true if a read runs: done() will come. */
bool memory_read(struct memory *m);
/* Drops what was read, because a question to kubelet has been answered or has failed. Returns true
 * if it must be read before the next list. */
bool memory_drop(struct memory *m);

#endif
