/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the fake libnvidia-ml.so.1 tells of a card and the simulated kernel knows too: a file of tests/nvml/card.h, which
 * each of them changes. It is the card itself, so it is there before the machine starts and after it has ended.
 */
#ifndef SIM_NVML_H
#define SIM_NVML_H

#include <stdbool.h>
#include <stddef.h>

struct nvml_device;
struct vgpu_types;

/* The machine starts: what no card keeps over that is gone from all cards in the directory. 0 or -errno. */
int nvml_boot(const char *cards);
/* Where instances are shown, once their card has its driver, and those of this one now. */
void nvml_proc(const char *path);
void nvml_show(struct nvml_device *c);
/* NULL: there is no such card. It lives as long as the simulation. */
struct nvml_device *nvml_card(const char *cards, const char *addr);
/* Of the module that has loaded, as the library tells it; "": none. */
void nvml_driver(const char *cards, char *buf, size_t size);
/* Its types of vGPUs; NULL: no memory. */
const struct vgpu_types *nvml_types(const struct nvml_device *c);

unsigned int nvml_room(struct nvml_device *c, unsigned int type);
/* A vGPU of a VF or mediated device. Returns -ENOSPC, or 0 and the GPU instance that the driver has chosen, -1 for
 * none. */
int nvml_take(struct nvml_device *c, unsigned int type, const char *owner, int *ret_gi);
void nvml_give(struct nvml_device *c, const char *owner);
/* A guest has it, or no longer. */
void nvml_active(struct nvml_device *c, const char *owner, bool on);
/* The driver has let go of it, or has it anew with so many VFs: instances are gone, and the sizes are equal. */
void nvml_rebound(struct nvml_device *c, unsigned int vfs);
/* So does a reset, and a mode that has waited for it is there. */
void nvml_reset(struct nvml_device *c);

#endif
