/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A world for tests of what sync decides: lines of inventory, objects as text. */
#ifndef UNIT_SYNCWORLD_H
#define UNIT_SYNCWORLD_H

#include "k8s-sync/agree/decide.h"
#include "k8s-sync/agree/inventory.h"

struct syncworld {
	struct inventory inv;
	struct world w;
};

/* Node node1, all kinds listed, and empty but for the Node. */
void syncworld_init(struct syncworld *s);
void syncworld_free(struct syncworld *s);
void syncworld_device(struct syncworld *s, const char *id, const char *pairs);
void syncworld_object(struct syncworld *s, enum kind_id kind, const char *text);
/* Decides and carries out what is for the cluster until nothing more is for it. Returns the lines
 * for the tree, and Events, that came last; the caller frees it. */
char *syncworld_settle(struct syncworld *s);
/* What is decided now, a line each: "apply pcidevices/node1-000005000 {...}"; the caller frees. */
char *syncworld_decide(const struct syncworld *s);

#endif
