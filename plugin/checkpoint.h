/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What kubelet keeps of its allocations over its own restarts. Until it has heard from all its sources, its
 * list of pods lacks pods that run on; this file and their directories do not.
 */
#ifndef PLUGIN_CHECKPOINT_H
#define PLUGIN_CHECKPOINT_H

#include <stdbool.h>
#include <stddef.h>

struct json_object;

/* NULL: no checkpoint, or not in a form that we know: that has not forgotten anybody. */
struct json_object *checkpoint_parse(const char *text, size_t len);
/* dir: kubelet's. NULL: there is none (ret_none), or none that can be read. */
struct json_object *checkpoint_load(const char *dir, bool *ret_none);
void checkpoint_free(struct json_object *c);

/* Does it give the device to a pod that still has its directory? */
bool checkpoint_holds(struct json_object *c, const char *dir, const char *device_id);

#endif
