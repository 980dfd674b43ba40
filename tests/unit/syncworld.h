/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A world for tests of what sync decides: lines of inventory, objects as text. */
#ifndef UNIT_SYNCWORLD_H
#define UNIT_SYNCWORLD_H

#include <stdlib.h>

#include "k8s-sync/agree/decide.h"
#include "k8s-sync/agree/inventory.h"
#include "test.h"

struct syncworld {
	struct inventory inv;
	struct world w;
	bool others; /* another manager has written all that stands in a status, too */
};

/* Node node1, all kinds listed, and empty but for the Node. */
void syncworld_init(struct syncworld *s);
void syncworld_free(struct syncworld *s);
void syncworld_device(struct syncworld *s, const char *id, const char *pairs);
void syncworld_object(struct syncworld *s, enum kind_id kind, const char *text);
/* Decides and carries out what is for the cluster until nothing more is for it, and forgets the
 * verdicts if it shall forget one. Returns the line for the tree that came last; the caller frees. */
char *syncworld_settle(struct syncworld *s);
/* As the API server would do it. */
void syncworld_carry_out(struct syncworld *s, const struct action *a);
/* What is decided now, a line each: "apply pcidevices/node1-000005000 {...}", and one for the Event
 * that goes with it; the caller frees. */
char *syncworld_decide(const struct syncworld *s);

/* The device that most tests are about. */
#define NVME "0000:05:00.0"
#define NAME "node1-000005000"
#define FACTS                                                                                      \
	"vendor=0x144d device=0xa808 class=0x010802 kind=pci description=\"NVMe: Samsung SM981\" " \
	"resource_name=samsung.com/SM981 iommu_group=37 claimable=yes state=free "
#define UNCLAIMED FACTS "driver=nvme claim=none reason=none"
#define CLAIMED(user) FACTS "driver=vfio-pci claim=" user " reason=\"claimed by " user "\""
#define CLAIM(user)                                                                                \
	"{\"metadata\":{\"name\":\"" NAME "\",\"uid\":\"C\",\"resourceVersion\":\"7\"},"           \
	"\"spec\":{\"address\":\"" NVME "\",\"nodeName\":\"node1\",\"userName\":\"" user "\"}}"

#define GPU "0000:08:00.0"
#define GPU_NAME "node1-000008000"
#define GPU_FACTS(on)                                                                              \
	"class=0x030200 kind=sriov-gpu driver=nvidia claim=none sriov_numvfs=" on " enabled=" on

/* Frees what it got. */
static inline void expect(char *got, const char *want)
{
	CHECK_STR(got, want);
	free(got);
}

/* Of this name; it is there. */
static inline json_object *object(struct syncworld *s, enum kind_id kind, const char *name)
{
	json_object *o = object_find(&s->w, kind, name);

	CHECK(o != NULL);
	return o;
}

static inline json_object *claim_of(struct syncworld *s)
{
	return object_find(&s->w, PCI_CLAIM, NAME);
}

static inline const char *note_of(struct syncworld *s)
{
	return js_meta(object_find(&s->w, PCI_DEVICE, NAME), "annotations", "pcidevfs/claim");
}

static inline const char *condition(struct syncworld *s, enum kind_id kind, const char *name,
				    const char *key)
{
	json_object *o = js_get(object_find(&s->w, kind, name), "status.conditions");

	return o ? js_text(json_object_array_get_idx(o, 0), key) : "";
}

/* Of the one of that type; "": it is not there. */
static inline const char *told(struct syncworld *s, enum kind_id kind, const char *name,
			       const char *type, const char *key)
{
	json_object *all = js_get(object_find(&s->w, kind, name), "status.conditions");

	return js_text(js_find(all, "type", type), key);
}

#endif
