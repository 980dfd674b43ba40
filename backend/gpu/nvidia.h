/* SPDX-License-Identifier: GPL-2.0-or-later */
/* NVIDIA's lock against users of a GPU that is to be unbound: an unbind of an open GPU never ends
 * (spec/peers.md 1.12, 12). */
#ifndef BACKEND_GPU_NVIDIA_H
#define BACKEND_GPU_NVIDIA_H

#include <stdbool.h>

struct device;
struct out;
struct sysfs;

/* In a helper: writes 0 or 1 to the lock of the GPU with this address and appends what it reads
 * then. -errno. */
int nvidia_unbind_lock(const struct sysfs *s, const char *address, const char *value,
		       struct out *answer);

/* The number of the GPU's node, of a line such as "Device Minor: \t 0" in /proc. False if there is
 * none, or none that fits. */
#define NVIDIA_MINOR 10
bool nvidia_minor(const struct sysfs *s, const char *address, char ret[static NVIDIA_MINOR]);

/* Does it lack nothing for vGPUs but its VFs, which `enabled` makes? */
bool nvidia_is_disabled(const struct device *dev);
/* Is it an NVSwitch that the host drives? */
bool nvidia_is_switch(const struct device *dev);

#endif
