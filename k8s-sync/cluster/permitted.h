/* SPDX-License-Identifier: GPL-2.0-or-later */
/* KubeVirt's list of the devices that VMs may ask for: what of it is ours, and the JSON patch that
 * makes it true. A list has no owner, so an annotation of the object, the ledger, has the names of
 * our entries. Pure. */
#ifndef SYNC_PERMITTED_H
#define SYNC_PERMITTED_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "picks.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

#define LEDGER "pcidevfs/permitted-host-devices"

enum list_id { LIST_PCI, LIST_MDEV, LIST_USB, LISTS };

/* Where an object has the lists, and how they look there. */
struct dialect {
	const char *api, *plural, *kind;
	const char *above; /* the path of the object that holds permittedHostDevices */
	const char *lists[LISTS];
	const char *pci_selector;
	bool keyed; /* no two entries of one list may have the same selector */
};

/* The KubeVirt CR; and what its operator makes that one of, where there is such an operator. */
extern const struct dialect dialect_kubevirt, dialect_hyperconverged;

/* ---- offers.c: what the nodes offer */
/* By list and name the entries that may stand for it, the one to be written first. */
struct offers {
	json_object *names[LISTS];
};

/* all: also what is not claimed, to know what the former controller has written. */
void offers_fill(struct offers *ret, const struct dialect *d, const struct picks *picks, bool all);
void offers_free(struct offers *o);
/* The entries of this name; NULL: it is not offered. */
json_object *offers_of(const struct offers *o, enum list_id list, const char *name);

/* ---- entries.c: entries of the lists, and the ledger */
/* Names by list: an array of objects, whose members are the names. */
json_object *names_new(void);
bool names_has(json_object *sets, enum list_id l, const char *name);
void names_put(json_object *sets, enum list_id l, const char *name);
/* Of one list, an array. */
json_object *names_sorted(json_object *set);
/* The annotation is {"usb":["a.com/B"]}. text: NULL: none. */
json_object *ledger_read(const struct dialect *d, const char *text);
json_object *ledger_text(const struct dialect *d, json_object *sets);
/* Four digits, as the ids of a device have them. */
bool entry_is_id(const char *text);
/* Would an agent write an entry of this form? Another one of the same name is somebody else's. */
bool entry_is_form(const struct dialect *d, enum list_id l, json_object *entry);
bool entry_is_one_of(json_object *entries, json_object *entry);
bool entry_is_external(json_object *entry);

/* ---- permitted.c */
enum {
	LINGER_MS = 2000,   /* a name is removed that nobody has offered for so long */
	ENTRIES_MAX = 1000, /* that come and go by one patch: a server takes 10000 operations */
};

enum note_id {
	NOTE_PLUGIN, /* somebody's entry has KubeVirt start a device plugin of its own */
	NOTE_KEY,    /* an entry has no place, as another one has its selector */
	NOTE_FORM,   /* what should be a list is none */
	NOTE_MADE,   /* the list is made, so that names without an entry are refused now */
	NOTE_GATE,   /* the feature gate is off */
	NOTES
};

struct permitted {
	json_object *patch;	     /* NULL: nothing is to be done */
	uint64_t change;	     /* a hash of what the patch changes */
	uint64_t again;		     /* ms: it is to be decided again, whatever comes */
	struct out log;		     /* "adds a, b; removes c" */
	char notes[NOTES][ERR_TEXT]; /* "": it does not hold */
};

extern const char *const note_reasons[NOTES];

/* o: the object that has the lists. since: by list and name when one of ours was first not offered
 * any more; another of us may know of it what we do not know yet. It is kept from one decision to
 * the next; NULL before the first. now: ms. */
void permitted_decide(const struct dialect *d, json_object *o, const struct picks *picks,
		      json_object **since, uint64_t now, struct permitted *ret);
void permitted_free(struct permitted *p);

#endif
