/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What kubelet keeps of its allocations over its own restarts. Until it has heard from all its
 * sources, its list of pods lacks pods that run on; this file and their directories do not.
 */
#ifndef PLUGIN_CHECKPOINT_H
#define PLUGIN_CHECKPOINT_H

#include <stdbool.h>
#include <stddef.h>

struct checkpoint;
struct err;

/* The devices that it gives to pods that have a directory now; dir: kubelet's own. NULL: not in a
 * form that we know, or no memory: that has not forgotten anybody. */
struct checkpoint *checkpoint_parse(const char *text, size_t len, const char *dir);
/* May take long. -ENOENT: there is none; another errno: whatever stands in it. */
int checkpoint_load(const char *dir, struct checkpoint **ret, struct err *err);
void checkpoint_free(struct checkpoint *c);

bool checkpoint_holds(const struct checkpoint *c, const char *device_id);

#endif
