/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values that both sides may change: one row each, and how they agree. Pure. */
#ifndef SYNC_AGREE_H
#define SYNC_AGREE_H

#include <string.h>

#include "decide.h"

struct out;

/*
 * ---- accord.c: three-way agreement of one value: what the tree says, what the cluster says, and
 * the note, an annotation, of what was last agreed (DESIGN.md 9).
 *
 * A note is "VALUE", or names a step under way, written before the step is taken, so that whoever
 * is killed in between is understood: "OLD>NEW" towards the tree, "OLD<NEW" towards the cluster.
 */
enum { ACCORD_VALUE = 254 };

enum accord_do {
	ACCORD_REST,	   /* nothing is to be done */
	ACCORD_NOTE,	   /* write the note first */
	ACCORD_TO_TREE,	   /* the tree gets the cluster's value */
	ACCORD_TO_CLUSTER, /* the cluster gets the tree's */
};

struct accord {
	enum accord_do what;
	/* For ACCORD_NOTE; "" removes the note: nothing is agreed, and neither side has a value. */
	char note[2 * ACCORD_VALUE + 2];
	bool overruled; /* both had changed, and the cluster wins; told with the first note only */
	bool agreed;
};

/* Who wrote the cluster's value? */
enum claim_whose {
	WHOSE_USERS,
	WHOSE_OURS, /* as the tree had it: so it is what was agreed, whatever the note says */
	WHOSE_ANEW, /* a user, after it was gone: what was agreed is that there is none */
};

/* Values are texts without '<' and '>'; "none" is the absence of one, on both sides. note NULL:
 * there is none; then a value on one side counts as new. had: the cluster's value, also of what was
 * deleted just now. */
void accord_decide(const char *note, enum claim_whose whose, const char *tree, const char *had,
		   const char *cluster, struct accord *ret);

/* Is its next step, or the one that its note is for, towards the tree ('>'), the cluster ('<')? */
static inline bool accord_leads(const struct accord *a, char where)
{
	return a->what == (where == '>' ? ACCORD_TO_TREE : ACCORD_TO_CLUSTER) ||
	       (a->what == ACCORD_NOTE && strchr(a->note, where));
}

/* A condition of an object; type NULL: none. */
struct standing {
	const char *type;
	bool holds;
	const char *reason; /* in CamelCase */
	char message[ERR_TEXT];
};

struct value;

/* Which of the devices that are here a claim means. */
enum meant { MEANT_NONE, MEANT_BY_ADDRESS, MEANT_BY_NAME };

/* Objects that claim devices of another kind. */
struct claim_kind {
	enum kind_id device, claim;
	const char *finalizer; /* of Harvester's controller: nobody else takes it off */
	/* The device that it names; NULL: that is not here, and err tells. */
	const struct inv_dev *(*find)(const struct world *w, json_object *o, struct err *err);
	/* Returns -EINVAL with the sentence if the claim contradicts itself. */
	int (*check)(const struct world *w, json_object *o, struct err *err);
	/* No two claims mean one device by name. */
	enum meant (*means)(const struct world *w, json_object *o);
	/* Objects are those of an address, and so of whichever device is there: its name of its own
	 * may be one that it got elsewhere, and its claim tells whether it is offered alone. Others
	 * always are: VMs name them by that. */
	bool by_address;
	/* Is that the name of an object of such a device of this node? */
	bool (*named)(const struct world *w, const char *name);
};

struct value_row {
	enum kind_id kind; /* whose objects bear the note, the annotation pcidevfs/FILE */
	const char *file;
	const char *none;		/* what the file is given for no value */
	const struct claim_kind *claim; /* the cluster's value is that of a claim; NULL */
	/* The sides' values, "none" if there is none: from inventory, from the object. */
	void (*tree)(const struct inv_dev *d, char ret[static ACCORD_VALUE]);
	void (*cluster)(json_object *o, const char *tree, char ret[static ACCORD_VALUE]);
	/* Sets the tree's value in the object, or in a merge patch of it. */
	void (*set)(json_object *o, const struct inv_dev *d, const char *value);
	/* NULL, or where the file has another path: mig/layout, whose note is pcidevfs/mig-layout. */
	const char *path;
	/* Is the tree's value known now, so that it may go to the cluster? NULL: always. */
	bool (*is_known)(const struct inv_dev *d);
	/* Lines that the tree gets before one that is not the end of a value; NULL. */
	void (*with)(const struct value *v, struct out *lines);
	const char *annotation; /* which is the cluster's value, without the two above; NULL */
	/* Of this device it is a fact: the cluster gets it, and is not asked. NULL: never. */
	bool (*is_fact)(const struct inv_dev *d);
	/* The device of this object is away, and the tree has what is agreed: the object can be
	 * made anew from that. NULL: nobody knows. */
	bool (*is_stored)(const struct world *w, json_object *o);
};

extern const struct value_row value_rows[];
extern const size_t n_value_rows;

struct value {
	const struct world *w;
	const struct value_row *row;
	const struct inv_dev *dev;
	char name[OBJECT_NAME];
	json_object *object; /* bears the note */
	json_object *claim;  /* NULL: not there */
	char tree[ACCORD_VALUE], cluster[ACCORD_VALUE], about[80];
	char had[ACCORD_VALUE]; /* the cluster's, also of a claim that is going or has just gone */
	enum claim_whose whose;
	struct accord accord;
	uint64_t seen;
	const struct verdict *verdict; /* about what is seen now */
	uint64_t open;		       /* of what does not agree, hashed */
	uint64_t open_ms;	       /* for so long, if it is known that it does not */
};

/* ---- values.c */
/* False: the device has none, or nothing can be decided about it. */
bool value_look(const struct world *w, const struct value_row *row, const struct inv_dev *d,
		struct value *ret);
void values_decide(const struct world *w, struct actions *list);
/* Are all objects known that decide about the values of this kind? */
bool values_known(const struct world *w, enum kind_id kind);
/* What an object that its device made has to say. */
void values_standing(const struct at *at, enum kind_id kind, struct standing *ret);
/* Sets the tree's values in a new object. */
void values_fill(json_object *o, enum kind_id kind, const struct inv_dev *d);
/* Is something agreed or asked in this object, so that it outlives its device? */
bool values_keep(const struct world *w, enum kind_id kind, json_object *o);
/* Asks the tree for lines, unless it has answered to what is seen. No lines: all is right, and what
 * it answered once is over. */
void ask_tree(const struct value *v, const char *about, uint64_t seen, struct out *lines,
	      struct actions *list);
/* What is seen of a device that is away. */
#define SEEN_AWAY FNV1A
struct verdict *verdict_about(const struct world *w, const char *about);
json_object *patch_of(json_object *o);

/* The object that asks: the claim; where that is gone or going, what bears the note. */
json_object *value_asker(const struct value *v);

/* ---- mig.c */
/* A layout without its compute instances, so that equal ones are equal texts. */
void mig_layout(const char *text, char ret[static ACCORD_VALUE]);
/* Of a MigConfiguration, as members of its row. */
void mig_cluster(json_object *o, const char *tree, char ret[static ACCORD_VALUE]);
void mig_set(json_object *o, const struct inv_dev *d, const char *value);
bool mig_is_known(const struct inv_dev *d);
/* Of an SRIOVGPUDevice. */
void mig_with_enabled(const struct value *v, struct out *lines);

/* ---- notes.c */
/* NULL: there is none. */
const char *note_get(const struct value_row *row, json_object *o);
/* Of the claim that the note is about; NULL: it does not tell. */
const char *note_uid(const struct value *v);
/* There is a claim, and the note is not about that one. */
bool note_is_old(const struct value *v);
/* Writes what the accord asks for. */
void note_write(const struct value *v, struct actions *list);

/* ---- late.c */
/* Has the tree not followed for long? */
bool late_is(const struct value *v, char ret_why[static ERR_TEXT]);
void late_decide(const struct value *v, struct actions *list);

/* ---- group.c */
/* A request has been sent, and it is not known what became of it. */
bool value_is_written(const struct value *v);
/* The tree does not say yet what it will say. */
bool value_is_on_its_way(const struct value *v);
/* May the next step be taken now, for the sake of the other members of its IOMMU group? */
bool group_lets(const struct value *v);
/* The tree's user, as the claim by which the group got it spells the name. */
const char *group_user(const struct value *v);

/* ---- claims.c */
extern const struct claim_kind claims_pci, claims_usb;
/* NULL: objects of this kind are not claims. */
const struct claim_kind *claim_kind_of(enum kind_id kind);
/* The claim's owner of this kind, as the claim names it; NULL. */
json_object *claim_owner(json_object *o, enum kind_id kind);
/* Of v->claim. That which is being deleted is not ours: whoever deletes it wants it gone. */
enum claim_whose claim_whose(const struct value *v);
/* A claim that has gone: does its device's note still lead to it, so that nothing else tells that
 * it was there? */
bool claim_is_missed(const struct world *w, enum kind_id kind, json_object *o);
/* The claim of v->dev, to v->claim and v->cluster. False: it contradicts itself. */
bool claim_look(struct value *v);
void claim_to_cluster(const struct value *v, struct actions *list);
/* What claims of this kind have to say, and lack. */
void claims_complete(const struct world *w, const struct value_row *row, struct actions *list);
/* Does the tree's claim make an object of this kind for the device? */
bool claims_make(const struct world *w, enum kind_id kind, const struct inv_dev *d);
/* Of a device that is away: its claim has gone, so the tree is to forget it. True: it has. */
bool claims_forget(const struct world *w, enum kind_id kind, json_object *o, struct actions *list);
/* By address, the claims that are not named as their device. */
json_object *claims_odd(const struct world *w);
/* The tree's spelling of a user's name: what `claim` does not take becomes "_". */
void claim_value(const char *user, char *ret, size_t size);

/* ---- alone.c: devices that are offered alone, under VENDOR/OBJECT. The tree knows no node, so
 * that name is made here, of the object that the device has when its claim asks for it. The tree
 * stores it with the device, and it goes where the device goes. */

/* Is that VENDOR/OBJECT, of an object of this node, or with ".2", ".3" ... behind it? */
bool alone_is_name(const struct world *w, const struct claim_kind *k, const char *resource);
/* The line that gives the device a name of its own, or takes it; nothing if all is right. */
void alone_to_tree(const struct value *v, struct out *lines);
/* Sets in a patch of the claim whether the device has such a name. */
void alone_to_cluster(const struct value *v, json_object *patch);
/* The claim is agreed: so shall this be. */
void alone_at_rest(const struct value *v, struct actions *list);

/* ---- writers.c: the server tells with each object who wrote which field, at length. */
/* Notes in an object, as the server sends it, who wrote the fields below, in place of that list. */
void writers_note(json_object *o);
/* Did sync write this field, and nobody else? */
#define WRITTEN_USER "userName"
#define WRITTEN_RESOURCE "resourceName"
bool writers_is_us(json_object *o, const char *field);

/* ---- adopt.c: what a claim takes over that is older than the tree */
/* The lines that go with the first one of a claim, also about other members of its IOMMU group.
 * named: there is one already by which this device gets its name. */
void adopt_to_tree(const struct value *v, bool named, struct out *lines);
/* The name by which the object's device was offered, until its claim is the tree's; "": none that
 * counts. */
const char *adopt_name(const struct at *at);
/* Of a verdict that has just come: if the tree refused the claim for one of these lines, it is
 * asked for once more, alone. Anybody who may write the objects could prevent it otherwise. */
void adopt_heed(struct verdict *v);
/* The annotation's name that is not agreed yet; "": none that counts. The row resource_name would
 * give it to the tree later; with the claim, the device is never offered under another name. */
const char *adopt_override(const struct at *at);

/* ---- conditions.c */
/* Who has the devices: reason and message, by the device's id and what else is in use with it. */
json_object *conditions_uses(const struct world *w);
/* To a new status: the object's own, if it has a type, and those that its device has. */
void conditions_add(json_object *want, const struct at *at, enum kind_id id,
		    const struct standing *own);
/* Does it have one that it shall not have any more? */
bool conditions_stale(json_object *was, json_object *want);
/* The others, others' too; NULL: none. */
json_object *conditions_left(json_object *was, json_object *want);

/* ---- lines.c */
/* The device of "0000:05:00.0/claim"; NULL: it is gone. */
const struct inv_dev *line_device(const struct world *w, const char *about);
/* Drops the ACT_CTL whose time has not come. */
void lines_keep(const struct world *w, struct actions *list);

/* ---- decide.c */
struct action *action_add(struct actions *list, enum action_kind act, enum kind_id kind,
			  const char *name, json_object *body);
/* The sentence of an Event, or more (ACT_LATE), about an object. */
void event_add(struct actions *list, enum action_kind act, enum kind_id kind, json_object *about,
	       const char *reason, const char *sentence);
void actions_append(struct actions *list, struct action *a);
json_object *want_main(const struct at *at, enum kind_id id, const char *name);
/* A new object, whole but for its status. */
json_object *want_new(const struct at *at, enum kind_id id, const char *name);
void ensure_status(const struct at *at, enum kind_id id, const struct standing *s,
		   struct actions *list);
json_object *delete_body(json_object *o);

#endif
