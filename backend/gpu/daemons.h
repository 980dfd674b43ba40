/* SPDX-License-Identifier: GPL-2.0-or-later */
/* NVIDIA's daemons for vGPUs, without which the driver lists no types: nvidia-vgpud tells it the
 * types, nvidia-vgpu-mgr serves the vGPUs. */
#ifndef BACKEND_GPU_DAEMONS_H
#define BACKEND_GPU_DAEMONS_H

#include <stdbool.h>
#include <stdint.h>

struct backend;
struct out;
struct sysfs;

/* In a helper: calls found for each of them that runs, until that returns false. What counts is a
 * process of root, in the initial user namespace and with these capabilities, whose program belongs
 * to root and can be written by nobody else; the name alone anybody can have. dir: that of the
 * process in proc. -errno. */
typedef bool daemon_found(void *ctx, int dir, const char *pid, const char *name);
int daemons_each(const struct sysfs *s, uint64_t caps, daemon_found *found, void *ctx);
/* Likewise, appends a line "- NAME" for each. */
int daemons_scan(const struct sysfs *s, struct out *ret);

#endif
