/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The description and the resource name of a function, as Harvester computes them from pci.ids.
 * Pure. */
#ifndef PCIDEVFS_NAMES_H
#define PCIDEVFS_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct facts;
struct ids;
struct names;

/* From vendor, device and class_code alone; ids: pci.ids (backend/ids.h), or NULL: names are made of
 * ids. */
void names_fill(const struct ids *ids, const struct facts *f, struct names *ret);

/* "nvidia.com/GA107GL_A2___A16": byte for byte Harvester's name, or "<vendor>/<device id>" if
 * kubelet would refuse that. vendor and product are the names of pci.ids, NULL if unknown. Never
 * empty. size must be at least sizeof(((struct names *)0)->resource). */
void names_resource(const char *vendor, const char *product, uint16_t device, char *buf,
		    size_t size);

/* "3D controller: NVIDIA Corporation GA107GL [A2 / A16]"; class_name is the subclass's, else the
 * class's name; each may be NULL. Text that does not fit is cut between characters. */
void names_description(const struct facts *facts, const char *class_name, const char *vendor,
		       const char *product, char *buf, size_t size);

#endif
