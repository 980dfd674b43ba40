/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Devices that are offered alone, under VENDOR/OBJECT: the tree knows no node, so that name is made
 * here, of the object that the device has when its claim asks for it. The tree stores it with the
 * device, and it goes where the device goes. Pure. */
#ifndef SYNC_ALONE_H
#define SYNC_ALONE_H

#include "agree.h"

#define ALONE "spec.disableResourcePooling"

/* Is that VENDOR/OBJECT, of an object of this node, or with ".2", ".3" ... behind it? */
bool alone_is_name(const struct world *w, const struct claim_kind *k, const char *resource);
/* The line that gives the device a name of its own, or takes it; nothing if all is right. */
void alone_to_tree(const struct value *v, struct out *lines);
/* Sets in a patch of the claim whether the device has such a name. */
void alone_to_cluster(const struct value *v, json_object *patch);
/* The claim is agreed: so shall this be. */
void alone_at_rest(const struct value *v, struct actions *list);

#endif
