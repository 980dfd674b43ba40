/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mediated devices: their bus (mdev.c), and how a function makes and removes them (create.c). */
#ifndef BACKEND_MDEV_H
#define BACKEND_MDEV_H

#include <stdbool.h>

struct bus_ops;
struct facts;
struct model;
struct sysfs;
struct uevent;

#define MDEV_DEVICES "bus/mdev/devices"
#define MDEV_TYPES "mdev_supported_types"

extern const struct bus_ops mdev_bus;

/* Reads path and parent of the mediated device with this UUID. false: there is none. */
bool mdev_parent(const struct sysfs *s, const char *uuid, struct facts *f);
/* Is this about a VF's mediated device, which is shown with the VF? Locks the model. */
bool mdev_of_vf(struct model *m, const struct uevent *ev);

#endif
