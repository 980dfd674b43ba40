/* SPDX-License-Identifier: GPL-2.0-or-later */
/* NVIDIA's lock against users of a GPU that is to be unbound: an unbind of an open GPU never ends
 * (spec/peers.md 1.12, 12). */
#ifndef BACKEND_GPU_NVIDIA_H
#define BACKEND_GPU_NVIDIA_H

struct out;
struct sysfs;

/* In a helper: writes 0 or 1 to the lock of the GPU with this address and appends what it reads
 * then. -errno. */
int nvidia_unbind_lock(const struct sysfs *s, const char *address, const char *value,
		       struct out *answer);

#endif
