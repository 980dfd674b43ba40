// SPDX-License-Identifier: GPL-2.0-or-later
/* Notes of what is agreed: annotations of the object that bears the value. That of a claim has the
 * claim's uid beside it: one of the same user that was deleted and made anew is another claim. */
#include <stdio.h>
#include <string.h>

#include "agree.h"
#include "inventory.h"

#define NOTE_UID NOTE_PREFIX "claim-uid"

static void note_key(const struct value_row *row, char ret[static 64])
{
	snprintf(ret, 64, NOTE_PREFIX "%s", row->file);
}

const char *note_get(const struct value_row *row, json_object *o)
{
	char key[64];

	note_key(row, key);
	return js_meta(o, "annotations", key);
}

const char *note_uid(const struct value *v)
{
	return js_meta(v->object, "annotations", NOTE_UID);
}

bool note_is_old(const struct value *v)
{
	const char *uid = js_text(v->claim, "metadata.uid");

	return *uid && strcmp(note_uid(v) ?: "", uid);
}

void note_write(const struct value *v, struct actions *list)
{
	const struct at at = { .w = v->w, .dev = v->dev, .was = v->object };
	json_object *want = want_main(&at, v->row->kind, v->name);
	json_object *all = js_get(want, "metadata.annotations");
	const char *uid = js_text(v->claim, "metadata.uid");
	struct action *a;
	char key[64];

	note_key(v->row, key);
	if (*v->accord.note) {
		js_set_meta(want, "annotations", key, v->accord.note);
		js_set_meta(want, "annotations", NOTE_UID, *uid ? uid : NULL);
	} else {
		json_object_object_del(all, key);
		if (v->row->claim)
			json_object_object_del(all, NOTE_UID);
	}
	a = action_add(list, ACT_APPLY, v->row->kind, v->name, want);
	if (!a || !v->accord.overruled || dev_is_busy(v->dev))
		return;
	a->reason = "Overruled";
	if (asprintf(
		    &a->lines,
		    "%s was changed in the tree to %.100s and in the cluster to %.100s; the cluster's value counts",
		    v->about, v->tree, v->cluster) < 0)
		a->lines = NULL;
}
