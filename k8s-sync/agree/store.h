/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The objects of one kind as the cluster has them, bounded: whoever may make claims may make any
 * number of them, for any node. Pure. */
#ifndef SYNC_STORE_H
#define SYNC_STORE_H

#include "kinds.h"

enum {
	APART_MAX = 256,	  /* claims that mean no device that is here */
	CLAIM_MAX = 32 * 1024,	  /* a larger one is not a claim */
	STORES_MAX = 96 << 20,	  /* all stores together: half of what the unit may use */
};

struct store {
	json_object *objects; /* name: object */
	json_object *apart;   /* name: address, of those that mean no device that is here */
	size_t size;	      /* of the objects in memory, about */
	bool left_out;	      /* some are not kept, of those that mean no device */
	bool full;	      /* some are not kept, of those that do */
};

void store_open(struct store *s);
void store_close(struct store *s);
/* Keeps an object, or what it has become, without a reference of the caller's; or leaves it out.
 * w->inv must be set. others: the size of the other stores. */
void store_put(struct store *s, const struct world *w, enum kind_id kind, json_object *o,
	       size_t others);
void store_drop(struct store *s, const char *name);
/* Could it be another choice by now: is there room for one that was left out? */
bool store_has_room(const struct store *s);
/* Changes when a claim of this kind may mean a device that it did not mean before. */
uint64_t store_ground(const struct world *w, enum kind_id kind);

#endif
