/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What labels.c and label_run.c share: NVIDIA's labels of the core Node. */
#ifndef SYNC_NODE_LABELS_H
#define SYNC_NODE_LABELS_H

#include <sys/stat.h>

#include "k8s-sync/api/brake.h"
#include "k8s-sync/nvidia/beside.h"
#include "k8s-sync/nvidia/labels.h"
#include "sync.h"

enum { SOON_MS = 1000, LOST_MS = 10000, AGAIN_MS = 60000, AGAIN_MAX_MS = 600000 };

/* What has become of a label's value. */
struct labelled {
	const char *path; /* of the layouts; NULL: the label has none */
	bool heeded;
	bool planned, running, repeated, finished, waits;
	struct stat file; /* as it was looked at last; st_ino 0: not there */
	bool stale;	  /* as the file has changed: the plan does not count any more */
	struct label_plan plan;
	char begun[LABEL_NOTE];	     /* the note of the change that has begun last; "": none has */
	char before[LABEL_NOTE];     /* what was agreed before it */
	bool done;		     /* some of it is, or may be */
	size_t next; /* transaction; behind the last: they have ended */
	size_t refused;
	unsigned int pause, pace;
	uint64_t again; /* ms: when it is tried again; 0: it is not */
	uint64_t look;	/* ms: not before, whatever the tree tells */
	uint64_t world; /* as label_world() said before the last attempt */
};

struct node_labels {
	struct sync *s;
	struct source work, files;
	bool known;	    /* the Node */
	uint64_t watch_at;  /* ms: a directory with layouts is not there; it is looked for then */
	uint64_t patch_at;  /* ms: not before, as the last one was refused */
	uint64_t beside_at; /* likewise, of what is said to the operator */
	bool with_beside;   /* what was sent last has it */
	/* Of what each label writes, and of what the operator alone is told. */
	struct brake brakes[NODE_LABELS + 1], *sent;
	struct label_now now[NODE_LABELS];
	const char *fallback[NODE_LABELS];
	struct labelled v[NODE_LABELS];
	struct beside_now beside;
	enum beside_change change;
	uint64_t lost; /* ms: since when there is no tree; 0: there is one */
};

/* Sends an Event about the Node. */
void label_event(struct node_labels *l, enum label_id id, const char *value, bool normal,
		 const char *reason, const char *sentence);
/* Makes a plan of this value. */
void label_make(struct node_labels *l, enum label_id id, const char *value);
/* Runs the plan's next transaction. */
void label_run(struct node_labels *l, enum label_id id);
/* Is the plan that of another value, or of what was before? Then a new one is made. */
void label_review(struct node_labels *l, enum label_id id, const char *value);
void label_forget(struct labelled *v);

#endif
