/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is to be done so that tree and cluster agree: a pure function of both. It is asked again
 * after each change; what it asks for is the next step of each object, not all steps. */
#ifndef SYNC_DECIDE_H
#define SYNC_DECIDE_H

#include <stdint.h>

#include "kinds.h"
#include "pcidevfs/err.h"

enum action_kind {
	ACT_APPLY,  /* server-side apply of labels and annotations; makes the object */
	ACT_STATUS, /* the same for its status */
	ACT_STRIP,  /* merge patch of its status, takes out what an apply cannot: others wrote it */
	ACT_CREATE,
	ACT_PATCH, /* merge patch, with the resourceVersion that was seen */
	ACT_DELETE,
	ACT_EVENT,  /* about the body; told once, as long as it is asked for */
	ACT_CTL,    /* lines for the tree; the verdict comes back as a struct verdict */
	ACT_FORGET, /* the verdict about this: both sides agree again */
	ACT_OPEN,   /* since now: what is seen does not agree; it comes back in a struct verdict */
	ACT_LATE,   /* as ACT_EVENT, and `health` has it */
};

struct action {
	enum action_kind act;
	enum kind_id kind;
	char name[OBJECT_NAME]; /* of the object */
	json_object *body;	/* of ACT_CTL the object that asks; NULL: none */
	char *lines;		/* of ACT_CTL; of others the sentence of an Event */
	const char *reason;	/* of that Event, in CamelCase; it is told once this is written */
	char about[80];		/* of ACT_CTL, ACT_FORGET, ACT_OPEN: "0000:05:00.0/claim" */
	uint64_t seen;		/* of ACT_CTL and ACT_OPEN: what led to it */
	uint64_t was;		/* of ACT_CTL: the tree's value then, hashed */
	struct action *next;
};

/* In the order in which they were added. */
struct actions {
	struct action *first, *last;
};

/* What is known of a value that does not agree, above all what became of an ACT_CTL. It is not
 * asked for again until what led to it has changed. */
struct verdict {
	char about[80];
	uint64_t seen;	/* 0: as if it had never been asked for */
	uint64_t turn;	/* that of its last line among all lines */
	uint64_t again; /* ms: when a refusal that may pass by itself is forgotten; 0: never */
	unsigned int pause;
	/* What led to it when the tree refused a line of adoption for itself: until that changes
	 * the claim is asked for without such lines. */
	uint64_t plain;
	bool running;
	/* It was done, or nobody knows. Until then (ms) the tree's value is still to come, as long
	 * as it is what it was before; 0: not. */
	uint64_t lands;
	uint64_t was;
	uint64_t open, since; /* of the ACT_OPEN, and its time (ms); 0: there was none */
	struct err err;
	struct verdict *next;
};

/* Times (ms) since an ACT_OPEN at which something else may be decided: the claims of a group's
 * other members follow; people are to know that the tree has not followed the cluster. */
enum { SIBLING_MS = 2000, LATE_MS = 5000 };

/* So many lines run at a time, each for other devices: another card, another IOMMU group. */
enum { LINES_MAX = 8 };

/* ---- wanted.c */
/* The pod of Harvester's controller that is on this node and has not ended; "": there is none. */
const char *former_pod(const struct world *w);

/* ---- decide.c */
/* Is enough known to decide? */
bool decide_ready(const struct world *w);
/* Returns the actions, a list; NULL: all agree, or memory ran out. What is to wait for a line that
 * runs is not among them: it might be taken back meanwhile. */
struct action *decide(const struct world *w);
/* Returns the objects that the devices have, a list, as for an empty cluster: for --print. */
json_object *decide_print(const struct world *w);
void actions_free(struct action *a);

#endif
