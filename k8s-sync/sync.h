/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of pcidevfs-sync share. All of it is used in turns of the loop alone. */
#ifndef SYNC_SYNC_H
#define SYNC_SYNC_H

#include "k8s-sync/agree/decide.h"
#include "k8s-sync/agree/store.h"
#include "client/loop.h"

struct api;
struct call;
struct events;
struct follow;
struct mirror;
struct writes;

struct options {
	const char *tree, *kubeconfig, *node;
	const char *print; /* not NULL: print only */
};

/* Of the core Node. */
enum label { LABEL_UNKNOWN, LABEL_NOT_SET, LABEL_SET };

/* Who has something to say. `health` and the metrics tell the first one's. */
enum say_slot {
	SAY_CERTIFICATE, /* an alert waits for it; the others may stay as long as users like */
	SAY_NODE,
	SAY_WRITES,
	SAY_EVENTS,
	SAY_LEFT_OUT,
	SAY_KIND,
	SAY_SLOTS = SAY_KIND + KINDS
};

struct sync {
	const struct options *o;
	struct loop loop;
	struct mirror *tree;
	struct api *api;
	/* inv is set while it is used, with the mirror's lock; objects are those of the stores. */
	struct world world;
	struct store stores[KINDS];
	struct follow *follows[KINDS];
	struct writes *writes;
	struct events *events;
	bool node_known, following, told_ready;
	int status; /* of the program; --print: 1 if there was nothing to print */
	char node_uid[64];
	struct source core; /* to ask for the core Node */
	unsigned int core_pause;
	enum label label;
	struct call *labelling; /* NULL: none runs */
	struct source work; /* to decide */
	struct source trim; /* to give memory back */
	struct source certificate;
	uint64_t decided;   /* ms */
	char said[SAY_SLOTS][ERR_TEXT];
};

/* Something changed: decides soon. */
void sync_touch(struct sync *s);
/* What stands in the log, and, the first one's, in `health`; "" takes it back. */
void sync_say(struct sync *s, enum say_slot slot, const char *sentence);
/* ---- known.c */
/* Keeps it in a store of this kind, a present or a coming one. */
void sync_put(struct sync *s, struct store *store, enum kind_id kind, json_object *o);
/* An object as the server has it, of a list, a watch or an answer; takes no reference. An older one
 * than we have is left out. */
void sync_store(struct sync *s, enum kind_id kind, json_object *o);
/* It has gone, or is not ours any more, as of this version: a newer one that we have stays. */
void sync_forget(struct sync *s, enum kind_id kind, json_object *o);
/* It is really gone: nobody makes it as the same. */
void sync_gone(struct sync *s, enum kind_id kind, const char *name);
/* The kind was listed anew: who of these is not there has left. */
void sync_relisted(struct sync *s, enum kind_id kind, json_object *were);
/* We have deleted the one with this uid. */
void sync_deleted(struct sync *s, enum kind_id kind, const char *name, const char *uid);
/* What left stays only as long as it is asked for by one of these. */
void left_keep(struct world *w, const struct action *list);

/* ---- follow.c: list and watch of one kind */
/* NULL: no memory. */
struct follow *follow_new(struct sync *s, enum kind_id kind);
/* Not before the tree is known: what a claim means is decided as it comes. */
void follow_start(struct follow *f);
/* Some claims were left out. Lists anew if they may mean a device by now; until then the kind is
 * not known. The world's inv is set. */
void follow_review(struct follow *f);
void follow_free(struct follow *f);
/* All that happened up to this resourceVersion is known; 0: nothing is. */
uint64_t follow_version(const struct follow *f);

/* ---- writes.c: carries actions out */
struct writes *writes_new(struct sync *s); /* NULL: no memory */
void writes_free(struct writes *w);
void writes_do(struct writes *w, struct action *list);
/* Before it is decided: forgets refusals that may have passed by now. */
void writes_remind(struct writes *w);

/* ---- events.c: Kubernetes Events, at most one a second */
struct events *events_new(struct sync *s); /* NULL: no memory */
void events_free(struct events *e);
void events_add(struct events *e, enum kind_id kind, json_object *about, const char *reason,
		const char *sentence);

/* ---- label.c: which nodes get NVIDIA's driver */
/* The core Node as it is. */
void label_read(struct sync *s, json_object *node);
/* Sets or removes the label if that is to be done. gpus: the tree has some that get an object. */
void label_ensure(struct sync *s, bool gpus);

/* RFC 3339, of now. */
void time_text(char ret[static 24]);

#endif
