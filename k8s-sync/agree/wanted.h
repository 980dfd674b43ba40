/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which devices have an object of which kind, how it is called, and why some get none. Pure. */
#ifndef SYNC_WANTED_H
#define SYNC_WANTED_H

#include "kinds.h"
#include "pcidevfs/err.h"

bool wanted_pci(const struct world *w, const struct inv_dev *d);
bool wanted_net(const struct world *w, const struct inv_dev *d);
bool wanted_gpu(const struct world *w, const struct inv_dev *d);
bool wanted_vgpu(const struct world *w, const struct inv_dev *d);
/* NODE-INTERFACE, the interface's name in lower case. */
bool name_net(const struct world *w, const struct inv_dev *d, char ret[static OBJECT_NAME]);
/* Is a VlanConfig matched to this node? */
bool ours_vlan(const struct world *w, json_object *o);
/* Is it the Node of this name? */
bool ours_node(const struct world *w, json_object *o);
/* Why the device can have no claim; tells at least what the tree's claimable does. */
void unwanted_why(const struct world *w, const struct inv_dev *d, char ret[static ERR_TEXT]);

#endif
