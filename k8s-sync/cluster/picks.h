/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of all nodes' objects the few fields that decide about the cluster. Pure. */
#ifndef SYNC_PICKS_H
#define SYNC_PICKS_H

#include <json-c/json.h>
#include <stdbool.h>

#include "k8s-sync/agree/kinds.h"

enum pick_kind {
	PICK_PCI_DEVICE,
	PICK_PCI_CLAIM,
	PICK_VGPU,
	PICK_USB_DEVICE,
	PICK_USB_CLAIM,
	PICK_DECIDES, /* so many decide about the list */
	PICK_NET = PICK_DECIDES,
	PICK_GPU,
	PICK_KINDS
};

enum {
	PICK_FIELDS = 7,
	PICK_TEXT = 512,   /* a longer value counts as none */
	PICKS_MAX = 50000, /* of one kind: 500 nodes have not so many */
};

/* The first two of each kind; the others by kind. The use is "INDEX TIME MESSAGE" of the condition
 * InUse while that is True. */
enum { PICK_NODE, PICK_USE, PICK_OWN };
enum { PCI_RESOURCE = PICK_OWN, PCI_VENDOR, PCI_DEVICE_ID, PCI_POD, PCI_VM };
enum { CLAIM_ADDRESS = PICK_OWN };
/* A value that is an object counts by its first member: an id of one of the types. */
enum { VGPU_ENABLED = PICK_OWN, VGPU_TYPE, VGPU_CONFIGURED, VGPU_UUID, VGPU_TYPE_ID };
enum { USB_RESOURCE = PICK_OWN, USB_VENDOR, USB_PRODUCT, USB_POD, USB_VM };

struct pick {
	const char *name;
	const char *v[PICK_FIELDS]; /* never NULL: "" */
	char text[];
};

struct pick_row {
	const char *plural;
	const char *paths[PICK_FIELDS];
	bool ends; /* one that is being deleted is gone */
};

extern const struct pick_row pick_rows[PICK_KINDS];

/* Name: struct pick. All of them are known once `listed`. */
struct picks {
	struct lh_table *table[PICK_KINDS];
	bool listed[PICK_KINDS];
};

/* NULL: no memory. */
struct lh_table *picks_table(void);
/* Keeps what counts of an object. Returns 1 if that is another than before, 0 if not; -E2BIG,
 * -ENOMEM. */
int picks_put(struct lh_table *t, enum pick_kind kind, json_object *o);
/* Returns true if it was there. */
bool picks_drop(struct lh_table *t, const char *name);
/* NULL: there is none. */
const struct pick *picks_find(const struct picks *all, enum pick_kind kind, const char *name);
enum { PICKS_KEY = 512 };
/* NAMESPACE/NAME. Returns ret. */
const char *picks_key(json_object *o, char ret[static PICKS_KEY]);
/* The name of the device that a PCI claim is of: NODE-000005000 (spec/harvester.md 4.4). Returns
 * false if no object may have it. */
bool picks_device_of(const struct pick *claim, char ret[static OBJECT_NAME]);

#endif
