/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mediated devices: their bus (mdev.c), and how a function makes and removes them (create.c). */
#ifndef BACKEND_MDEV_H
#define BACKEND_MDEV_H

#define MDEV_DEVICES "bus/mdev/devices"
#define MDEV_TYPES "mdev_supported_types"

struct bus_ops;

extern const struct bus_ops mdev_bus;

#endif
