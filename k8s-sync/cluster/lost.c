// SPDX-License-Identifier: GPL-2.0-or-later
#include "lost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "changes.h"
#include "k8s-sync/agree/js.h"

enum { DISTANCE = 40, MESSAGE = 3 * PICK_TEXT };

json_object *node_digest(json_object *node)
{
	json_object *ready = js_find(js_get(node, "status.conditions"), "type", "Ready");
	json_object *digest = json_object_new_object();

	if (!strcmp(js_text(ready, "status"), "Unknown"))
		js_set_text(digest, "since", js_text(ready, "lastTransitionTime"));
	return digest;
}

static void declare(json_object *changes, const char *plural, const struct pick *p,
		    json_object *digest)
{
	char *rest, path[DISTANCE], message[MESSAGE];
	unsigned long index = strtoul(p->v[PICK_USE], &rest, 10);
	const char *time = rest + (*rest == ' '), *said = time + strcspn(time, " ");
	const char *since = js_text(digest, "since");
	bool gone = js_get(digest, "gone");
	json_object *patch;

	if (strncmp(time, since, strlen(since)) >= 0)
		return;
	said += *said == ' ';
	snprintf(message, sizeof(message), "node %s %s%s%s%s", p->v[PICK_NODE],
		 gone ? "is not in the cluster any more" : "has not reported since ",
		 gone ? "" : since, *said ? "; before: " : "", said);
	patch = json_object_new_array();
	snprintf(path, sizeof(path), "/status/conditions/%lu", index);
	op_add(patch, "test", json_object_new_string("InUse"), "%s/type", path);
	op_add(patch, "test", json_object_new_string("True"), "%s/status", path);
	op_add(patch, "add", json_object_new_string("Unknown"), "%s/status", path);
	op_add(patch, "add", json_object_new_string(gone ? "NodeGone" : "NodeUnreachable"),
	       "%s/reason", path);
	op_add(patch, "add", json_object_new_string(message), "%s/message", path);
	op_add(patch, "add", json_object_new_string(since), "%s/lastTransitionTime", path);
	changes_add(changes, GROUP_VERSION, "", plural, p->name, "status", patch);
}

/* Its agent may live: what that tells from now on holds. */
static json_object *note_gone(json_object *nodes, const char *key, const char *now)
{
	json_object *digest = json_object_new_object();

	js_set_text(digest, "since", now);
	js_set(digest, "gone", json_object_new_boolean(true));
	json_object_object_add(nodes, key, digest);
	return digest;
}

void lost_decide(const struct picks *all, json_object *nodes, const char *now, json_object *changes)
{
	char key[1 + PICK_TEXT];

	for (enum pick_kind k = 0; k < PICK_KINDS && json_object_object_length(nodes); k++) {
		struct lh_entry *e;

		lh_foreach(all->table[k], e)
		{
			const struct pick *p = lh_entry_v(e);
			json_object *digest;

			if (!*p->v[PICK_USE] || !*p->v[PICK_NODE])
				continue;
			snprintf(key, sizeof(key), "/%s", p->v[PICK_NODE]);
			if (!json_object_object_get_ex(nodes, key, &digest))
				digest = note_gone(nodes, key, now);
			if (js_get(digest, "since"))
				declare(changes, pick_rows[k].plural, p, digest);
		}
	}
}
