/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An IOMMU group of two at a server that is far: requests, their answers, what watches tell and the
 * tree's news come in any order, and sync is killed. */
#ifndef PCIDEVFS_GROUPSIM_H
#define PCIDEVFS_GROUPSIM_H

#include "k8s-sync/agree/agree.h"
#include "syncworld.h"

extern const char *const group_ids[2], *const group_names[2];

enum { REQUESTS = 8, EVENTS = 64, LINES = 8 };

struct group_request {
	struct action a;
	bool done;	     /* the server has carried it out; the answer is on its way */
	json_object *answer; /* NULL: refused, or deleted */
};

/* What a watch has yet to tell. */
struct group_told {
	enum kind_id kind;
	char name[OBJECT_NAME];
	json_object *o; /* NULL: deleted */
	unsigned int version;
};

struct group_sim {
	struct syncworld view, server;
	struct group_request requests[REQUESTS];
	size_t n_requests;
	struct group_told told[KINDS][EVENTS];
	size_t n_told[KINDS];
	unsigned int version, uids;
	unsigned int seen[KINDS][2]; /* by version */
	char tree[16], news[EVENTS][16];
	size_t n_news;
	struct verdict verdicts[2];
	char line[16];	 /* value of the one that runs; "" none does */
	unsigned int of; /* by its index */
	bool line_done;
	uint32_t random;
};

void group_begin(struct group_sim *m, uint32_t seed);
void group_end(struct group_sim *m);
/* Below n. */
unsigned int group_any(struct group_sim *m, unsigned int n);
/* The object has been written, or deleted, at the server. */
void group_wrote(struct group_sim *m, enum kind_id kind, const char *name, const char *manager);
/* One of the things that can happen now. False: nothing can, but that time passes. */
bool group_happen(struct group_sim *m);
/* sync decides, and does what it decided. */
void group_turn(struct group_sim *m);
/* What was sent may still be carried out. */
void group_kill_sync(struct group_sim *m);
/* The user of a member's claim, and what its device's note says. */
const char *group_claim(const struct syncworld *s, unsigned int i);
const char *group_note(const struct syncworld *s, unsigned int i);
/* The uid of the claim that the note is about. */
const char *group_noted(const struct syncworld *s, unsigned int i);

#endif
