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
struct label_plan;
struct reply;
struct roll;
struct mirror;
struct node_labels;
struct writes;

struct options {
	const char *tree, *kubeconfig, *node;
	char host[256];	     /* room for node_name() */
	const char *print;   /* not NULL: print only */
	const char *cluster; /* not NULL: the role of k8s-sync/cluster */
	/* Of NVIDIA's labels. The files with the layouts that they name; NULL: not ours. */
	const char *vgpu_configs, *mig_configs;
	const char *default_vgpu_config; /* NULL: none */
	const char *with_nvswitches;	 /* not NULL: a workload takes them as well as GPUs */
	const char *default_workload;	 /* "keep": as it is; NULL: the label is not ours */
};

/* Of the core Node. */
enum label { LABEL_UNKNOWN, LABEL_NOT_SET, LABEL_SET };

/* Who has something to say. `health` and the metrics tell the first one's. */
enum say_slot {
	SAY_CERTIFICATE, /* an alert waits for it; the others may stay as long as users like */
	SAY_NODE,
	SAY_FORMER,
	SAY_LATE,
	SAY_WRITES,
	SAY_EVENTS,
	SAY_LABELS,
	SAY_LEFT_OUT,
	SAY_KIND,
	SAY_OPERATOR = SAY_KIND + KINDS, /* as long as it is so; those below as long as sync runs */
	SAY_LIMITS,			 /* of the node's name */
	SAY_OWNER,			 /* there is no Node */
	SAY_SLOTS
};

struct sync {
	const struct options *o;
	struct loop loop;
	struct mirror *tree;
	struct api *api;
	/* inv is set while it is used, with the mirror's lock; objects are those of the stores. */
	struct world world;
	struct store stores[KINDS];
	struct roll *rolls[KINDS];
	struct writes *writes;
	/* The server has taken a status of this kind: its CRD has the fields. Until then one goes
	 * first, lest all of them fail. */
	bool declared[KINDS];
	struct events *events;
	struct node_labels *labels; /* NULL: not yet, or not any more */
	bool following, told_ready;
	bool former_told; /* an Event tells what SAY_FORMER says */
	uint64_t former_until; /* ms: until then its next pod may come; UINT64_MAX: one is here */
	int status;	 /* of the program; --print: 1 if there was nothing to print */
	bool node_known; /* the core Node, or that there never was one; nothing is decided before */
	bool node_missing;		 /* it was there and is not, or it is another host */
	char node_uid[64];		 /* of the Node, the last one; "" */
	char owner_uid[64];		 /* of the Node that owns what we found; "" */
	struct source core;		/* to ask for it */
	struct call *asking, *patching; /* NULL: none runs */
	void (*patched)(struct sync *s, const struct reply *r);
	struct follow *core_follow; /* NULL: nobody wants to know */
	uint64_t core_version;	    /* the newest copy that we have seen */
	uint64_t asked_version;	    /* that was the newest when asking was sent */
	bool ask_again;		    /* something has changed since it was asked */
	unsigned int core_pause;
	enum label label;
	struct source work; /* to decide */
	struct source trim; /* to give memory back */
	uint64_t decided; /* ms */
	unsigned int gap; /* ms: from then until the next time */
	uint64_t turns;	  /* how many lines the tree got */
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

/* ---- stores.c: list and watch of one kind */
/* NULL: no memory. */
struct roll *roll_new(struct sync *s, enum kind_id kind);
/* Not before the tree is known: what a claim means is decided as it comes. */
void roll_start(struct roll *l);
/* Some claims were left out. Lists anew if they may mean a device by now; until then the kind is
 * not known. The world's inv is set. */
void roll_review(struct roll *l);
void roll_free(struct roll *l);
/* Do we have no right to see them any more? What we knew before stays. */
bool roll_barred(const struct roll *l);
/* All that happened up to this resourceVersion is known; 0: nothing is. */
uint64_t roll_version(const struct roll *l);

/* ---- writes.c: carries actions out */
struct writes *writes_new(struct sync *s); /* NULL: no memory */
void writes_free(struct writes *w);
void writes_do(struct writes *w, struct action *list);
/* Before it is decided: tells the world which objects are being written. */
void writes_mark(struct writes *w);
/* Is our own deletion of this object under way? */
bool writes_deletes(struct writes *w, enum kind_id kind, const char *name);

/* ---- asks.c: the tree, and what does not agree */
/* ACT_CTL, ACT_FORGET, ACT_OPEN. */
void asks_do(struct sync *s, const struct action *a);
/* Before it is decided: forgets refusals that may have passed by now. */
void asks_remind(struct sync *s);

/* An Event about an object (events.h). */
void sync_event(struct sync *s, enum kind_id kind, json_object *about, const char *reason,
		const char *sentence);

/* ---- former.c */
/* Is a pod of the controller that this one replaces on the node, or may its next one come there?
 * Then nothing is written, and that is told. */
bool former_waits(struct sync *s);

/* ---- node.c: the core Node, the owner of our objects */
/* What the node is called if nobody says: what it returns may stand in host. */
const char *node_name(char host[static 256]);
bool node_is_name(const char *name);
void node_open(struct sync *s);
/* An object has left: is its owner still there? Until that is known nothing is decided. */
void node_ask(struct sync *s);
/* An object as the server has it: who owned what we have made? */
void node_note_owner(struct sync *s, enum kind_id kind, json_object *o);
/* Watches it from now on. Returns 0 or -ENOMEM. */
int node_watch(struct sync *s, struct err *err);
/* Sends a merge patch. False: not now, as another one is under way (then sync_touch() and
 * labels_touch() come after it), or there is no memory. */
bool node_patch(struct sync *s, json_object *body,
		void (*done)(struct sync *s, const struct reply *r));
void node_close(struct sync *s);

/* ---- label.c: which nodes get NVIDIA's driver */
/* The core Node as it is, each time that node.c hears of it. */
void label_read(struct sync *s, json_object *node);
/* Sets or removes the label if that is to be done. gpus: the tree has some that get an object. */
void label_ensure(struct sync *s, bool gpus);

/* ---- labels.c: NVIDIA's labels of the core Node */
/* Returns 0 or -errno. Without an option that asks for it nothing is watched, and what was said to
 * NVIDIA's operator before is taken back. */
int labels_open(struct sync *s, struct err *err);
/* The core Node as it is; NULL: it is not known, or not there. */
void labels_note(struct sync *s, json_object *node);
/* Something has changed, in the tree too. */
void labels_touch(struct sync *s);
void labels_close(struct sync *s);
/* ---- label_tree.c: what a label's value asks of the tree as it is now (nvidia/labels.h) */
/* Besides the value. */
struct label_asked {
	const char *path, *note; /* of the layouts, NULL: none; what was agreed */
	bool nvswitches;
};
/* Returns 0 or -errno: the tree cannot be read. */
int label_plan_from(const char *tree, int id, const char *value, const struct label_asked *asked,
		    struct label_plan *plan, struct err *err);
/* Has the device of a workload's transaction still LABEL_OWNER's claim, if it is given back, or no
 * vGPUs, if it is taken? Returns 0, or -EBUSY with who has it. */
int label_check(const char *tree, const char *lines, struct err *err);
/* A sum of all by which something refused may come to be possible; 0: an operation runs. */
uint64_t label_world(const struct inventory *inv);

#endif
