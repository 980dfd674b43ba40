/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One table for each kind of object: which devices have one, and which field is which file of the
 * tree. A further kind is a table in tables.c; a value that both sides may change is besides a row
 * of values.c. Pure. */
#ifndef SYNC_KINDS_H
#define SYNC_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "js.h"

#define GROUP_VERSION "devices.harvesterhci.io/v1beta1"
#define NOTE_PREFIX "pcidevfs/"
/* NAMESPACE/POD that has the device; and, by the cluster's role, "NAMESPACE/POD VM" of it. */
#define ALLOCATED_TO NOTE_PREFIX "allocated-to"
#define POD_OF_VM "pcidevfs-cluster/vm"
/* Who we are in managedFields: of spec, of status. */
#define SPEC_MANAGER "pcidevfs-spec"
#define STATUS_MANAGER "pcidevfs-status"
/* Of a USBDevice about which something is agreed: the device may get other numbers. */
#define USB_PORT "usb.pcidevfs/port"
#define USB_SERIAL "usb.pcidevfs/serial"
/* Annotations of Harvester's (spec/harvester.md 2). */
#define FIRST_DRIVER "harvesterhci.io/pcideviceDriver"
#define RESOURCE_OVERRIDE "pcidevice.harvesterhci.io/override-resource-name"
#define SKIP_MIG "harvesterhci.io/skip-mig-configuration"
#define INTERFACE_NAME "sriov.devices.harvesterhi.io/interface-name" /* so it is spelled */
#define SKIP_BINDING "pcidevices.harvesterhci.io/skip-vfio-binding"
/* Harvester's controller itself (spec/delivery.md 4, spec/harvester.md 2). */
#define FORMER_NAME "harvester-pcidevices-controller"
#define FORMER_LABEL "app.kubernetes.io/name"
#define FORMER_PODS "namespaces/harvester-system/pods"
#define FORMER_WEBHOOK "pcidevices.harvesterhci.io"

struct inv_dev;
struct inventory;
struct verdict;

enum kind_id {
	PCI_DEVICE,
	PCI_CLAIM,
	NET_DEVICE,
	GPU_DEVICE,
	MIG_CONFIG,
	VGPU_DEVICE,
	USB_DEVICE,
	USB_CLAIM,
	NODE,
	VLAN_CONFIG,
	FORMER_POD, /* of Harvester's controller */
	KINDS
};

enum { OBJECT_NAME = 254, LABEL_VALUE = 63 /* bytes that it takes */ };

#define LACKS_CONDITIONS (1U << 31)

/* All that decides. The caller's. */
struct world {
	const struct inventory *inv;
	json_object *objects[KINDS]; /* name: object, of this node */
	/* Deleted, or without the label that selects them, as they were before; as long as they
	 * are wanted, claims as long as they are missed. NULL: none. */
	json_object *left[KINDS];
	bool listed[KINDS]; /* all of them are known */
	bool left_out[KINDS]; /* but for claims that mean no device that is here: store.h */
	const char *node;
	const char *node_uid; /* of the core Node; "" if it is not known */
	const char *now;      /* for conditions: 2026-11-26T20:00:00Z */
	/* Fields of the status that the cluster's CRDs do not have: a bit for each row of the
	 * kind's table, which has at most 31, and LACKS_CONDITIONS. */
	uint32_t lacks[KINDS];
	struct verdict *verdicts;
	uint64_t now_ms;
	json_object *writing[KINDS]; /* name: its agreement is being written; NULL: none is */
	/* decide() makes them: */
	json_object *odd;  /* claims_odd() */
	json_object *uses; /* conditions_uses() */
	bool one_line;	  /* the tree takes them one behind another: LINES_MAX is 1 */
};

enum part { LABEL, ANNOTATION, SPEC, STATUS };

/* What a converter sees. */
struct at {
	const struct world *w;
	const struct inv_dev *dev;
	json_object *was; /* the object as it is in the cluster; NULL: it is not there */
};

/* Returns a new value; NULL: the field is absent. */
typedef json_object *converter(const struct at *at, const char *value);

/* Of a field whose device is gone while its object stays. */
enum gone { GOES, STAYS, COMES };

struct field {
	enum part part;
	const char *name;
	const char *key; /* of inventory; NULL: the converter gets the id, or looks by itself */
	converter *conv;
	enum gone gone; /* COMES: it is there only then */
	bool any;	/* an empty text or list is left out */
	/* Instead of a converter: this, if the key has a value or the field COMES. */
	const char *says;
};

struct kind {
	const char *kind, *plural;
	/* NULL: GROUP_VERSION. Of others: only read, and may not be there; they tell which devices
	 * have no objects, and whether to write at all: nothing is decided before. */
	const char *api;
	bool unsaid; /* most clusters have none, nor the right to read them: that is not told */
	/* What a list and a watch select, before the node's name; tried in order until the server
	 * takes it; the last one is NULL, for all objects. */
	const char *selectors[3];
	/* Does this device have an object? NULL: none is made for it by itself; the fields complete
	 * one that somebody made. */
	bool (*wanted)(const struct world *w, const struct inv_dev *d);
	/* The name of the device's object, of the one that is there or of a new one. False: it has
	 * none now. NULL: by its address. */
	bool (*name)(const struct world *w, const struct inv_dev *d, char ret[static OBJECT_NAME]);
	bool of_node; /* one for the node, of its name */
	/* NULL: what names the node belongs to it. */
	bool (*ours)(const struct world *w, json_object *o);
	const struct field *fields; /* besides the label nodename */
	size_t n_fields;
	bool empty_spec;
	/* Whose objects of the same device own it, besides the core Node: bits by enum kind_id. */
	unsigned int (*owners)(const struct inv_dev *d);
};

extern const struct kind kinds[KINDS];

/* "node1-000005000" */
bool object_name(const struct world *w, enum kind_id kind, const struct inv_dev *d,
		 char ret[static OBJECT_NAME]);
/* Is that the name of an object of a PCI function of this node? */
bool object_is_named(const struct world *w, const char *name);
/* Does the object, of whatever form, belong to this node? */
bool object_is_ours(const struct world *w, enum kind_id kind, json_object *o);
json_object *object_find(const struct world *w, enum kind_id kind, const char *name);
/* The first one about the device, of those that are there or have just left; NULL. */
typedef bool is_about(const struct world *w, json_object *o, const struct inv_dev *d);
json_object *object_about(const struct world *w, enum kind_id kind, is_about *about,
			  const struct inv_dev *d);
/* The object of a device; NULL. */
json_object *object_of(const struct world *w, enum kind_id kind, const struct inv_dev *d);
bool object_is_deleted(json_object *o);

/* Can objects of this kind have conditions, as far as it is known? */
bool kind_tells(const struct world *w, enum kind_id kind);
/* The bits, for `lacks`, of the fields that the API server's sentence names as not declared. */
uint32_t kind_undeclared(enum kind_id kind, const char *sentence);
/* The field's name; NULL: there is none of this bit. */
const char *kind_field(enum kind_id kind, uint32_t bit);

/* Does one of the devices have an object of this kind? */
bool kind_wanted(const struct world *w, enum kind_id kind);

/* A new object with apiVersion, kind and metadata.name; and with the uid of what it was, which
 * keeps an apply from making an object anew that somebody has just deleted. */
json_object *object_new(const struct kind *k, const char *name, json_object *was);
/* Sets the fields of a part; without a device those that stay. */
void object_fill(json_object *o, const struct kind *k, enum part part, const struct at *at);
/* Has it a spec? Whoever makes it without one leaves it to us: its first field tells. */
bool object_has_spec(enum kind_id kind, json_object *o);
/* An owner: the core Node, or an object of ours. uid "": adds nothing. */
void object_own(json_object *o, const char *api, const char *kind, const char *name,
		const char *uid);

#endif
