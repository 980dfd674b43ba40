/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values that both sides may change. Pure. */
#ifndef SYNC_ACCORDS_H
#define SYNC_ACCORDS_H

#include "decide.h"

/* A condition of an object; type NULL: none. */
struct standing {
	const char *type;
	bool holds;
	const char *reason; /* in CamelCase */
	char message[ERR_TEXT];
};

/* What an object that its device made has to say. */
void accords_standing(const struct at *at, enum kind_id kind, struct standing *ret);
/* Does the tree's value make an object of this kind for the device? */
bool accords_make(const struct world *w, enum kind_id kind, const struct inv_dev *d);
void accords_decide(const struct world *w, struct action **list);

/* Of values.c: values that are a field of spec and a file, one row each. */
void values_decide(const struct world *w, struct action **list);
void values_standing(const struct at *at, enum kind_id kind, struct standing *ret);

/* Of accords.c. */
const struct verdict *verdict_about(const struct world *w, const char *about);
json_object *patch_of(json_object *o);

/* Of decide.c. */
struct action *action_add(struct action **list, enum act act, enum kind_id kind, const char *name,
			  json_object *body);
void action_event(struct action **list, enum kind_id kind, json_object *o, const char *reason,
		  const char *sentence);
json_object *want_main(const struct at *at, const struct kind *k, const char *name);
void ensure_status(const struct at *at, enum kind_id id, const struct standing *s,
		   struct action **list);
json_object *delete_body(json_object *o);

/* The tree's spelling of a user's name: what `claim` does not take becomes "_". */
void claim_value(const char *user, char *ret, size_t size);

#endif
