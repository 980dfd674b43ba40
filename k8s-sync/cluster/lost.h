/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nodes that nobody hears of: whether their devices are in use is not known any more, whatever their
 * agents have told last. Pure. */
#ifndef SYNC_LOST_H
#define SYNC_LOST_H

#include <json-c/json.h>

#include "picks.h"

/* What counts of a core Node: "since" when it has not reported, as the cluster's controller of nodes
 * found (Ready is Unknown). */
json_object *node_digest(json_object *node);

/* Adds, by the status of an object, the JSON patch that makes its condition InUse Unknown, where
 * that is True; but not if its node's agent has told so since, which it can while kubelet is down,
 * or without a Node. The first members of a patch are tests without which the others mean nothing.
 * nodes: digests by /NAME, in which is noted since when one is missing; none: nothing is added.
 * now: as conditions have it. */
void lost_decide(const struct picks *all, json_object *nodes, const char *now,
		 json_object *changes);

#endif
