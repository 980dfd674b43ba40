/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mediated devices: their bus (mdev.c), and how a function makes and removes them (create.c). */
#ifndef BACKEND_MDEV_H
#define BACKEND_MDEV_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/gpu/types.h"
#include "pcidevfs/facts.h"

struct backend;
struct bus_ops;
struct step;
struct sysfs;

#define MDEV_DEVICES "bus/mdev/devices"

extern const struct bus_ops mdev_bus;
/* Of a parent: makes "<type> <uuid>"; ends the one with that UUID. */
extern const struct verb mdev_create, mdev_finish;

/* Reads path and parent of the mediated device with this UUID. false: there is none. */
bool mdev_parent(const struct sysfs *s, const char *uuid, struct facts *f);
/* The IOMMU group of the mediated device in this directory of sysfs, or -1, and the nodes by which
 * it is opened; "": they are not there. */
int32_t mdev_group(const struct sysfs *s, const char *dir, char ret_nodes[static NODES_TEXT]);

/* Splits "nvidia-222 <uuid>" at the blank. Returns what is behind it. */
const char *mdev_split(const char *value, char ret_type[static TYPE_ID]);

/* In a step, by a helper: the parent makes one of that type; it ends. 0 or -errno without a
 * sentence. */
int mdev_make(struct backend *b, struct step *step, const char *parent, const char *type,
	      const char *uuid, unsigned int ms);
int mdev_remove(struct backend *b, struct step *step, const char *uuid, unsigned int ms);

#endif
