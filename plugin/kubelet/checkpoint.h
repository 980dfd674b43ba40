/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The allocations that kubelet stores over its restarts. It is the only one who knows of two sorts
 * of pods that run with a device and are not in kubelet's list: those of an API server that has
 * been away since kubelet started, however long (kubelet 1.34: none of them after 320 s, and their
 * containers went on), and those with the device in an init container, never. Without it the first
 * would lose their devices after some time, the second after 30 s: tests/k8s/unlisted.test. */
#ifndef PLUGIN_CHECKPOINT_H
#define PLUGIN_CHECKPOINT_H

#include <stdbool.h>
#include <stddef.h>

struct checkpoint;
struct err;

/* Takes the devices of pods that have a directory now; dir is kubelet's own. Returns NULL if the
 * form is unknown or there is no memory: nothing then counts as forgotten. */
struct checkpoint *checkpoint_parse(const char *text, size_t len, const char *dir);
/* May take long. Returns 0; -ENOENT: there is no file; another errno: its content is unknown. */
int checkpoint_load(const char *dir, struct checkpoint **ret, struct err *err);
void checkpoint_free(struct checkpoint *c);

bool checkpoint_holds(const struct checkpoint *c, const char *device_id);

#endif
