// SPDX-License-Identifier: GPL-2.0-or-later
/* Since when a claim and the tree do not agree, and what is said about it. */
#include <string.h>

#include "agree.h"
#include "inventory.h"
#include "pcidevfs/util.h"

bool late_is(const struct value *v, char ret_why[static ERR_TEXT])
{
	bool busy = dev_is_busy(v->dev) || (v->verdict && v->verdict->running);

	if (!v->row->claim || !accord_leads(&v->accord, '>') || v->open_ms < LATE_MS)
		return false;
	snprintf(ret_why, ERR_TEXT,
		 "the cluster has %.100s as the user of %s, and the tree still has %.100s%s",
		 v->cluster, v->dev->id, v->tree, busy ? "; an operation on it is running" : "");
	return true;
}

void late_decide(const struct value *v, struct actions *list)
{
	const struct verdict *last = verdict_about(v->w, v->about);
	json_object *o = value_asker(v);
	char why[ERR_TEXT];
	struct action *a;

	if (v->accord.agreed || !v->row->claim)
		return;
	if (last && last->open == v->open) {
		if (late_is(v, why) && !(v->verdict && v->verdict->err.code))
			event_add(list, ACT_LATE,
				  o == v->claim ? v->row->claim->claim : v->row->kind, o, "Pending",
				  why);
		return;
	}
	a = action_add(list, ACT_OPEN, v->row->kind, v->name, NULL);
	if (!a)
		return;
	STR_COPY(a->about, v->about);
	a->seen = v->open;
}
