// SPDX-License-Identifier: GPL-2.0-or-later
/* Harvester's controller on this node: it writes the same objects by other rules. */
#include <stdio.h>
#include <string.h>

#include "pcidevfs/util.h"
#include "sync.h"

enum { NEXT_MS = 30000 }; /* the next pod of a DaemonSet is not on its node at once */

/* What is in the way; "": nothing. */
static void sentence(struct sync *s, char text[static ERR_TEXT])
{
	const char *pod = former_pod(&s->world);
	uint64_t now = now_ms();

	*text = '\0';
	if (*pod)
		s->former_until = UINT64_MAX;
	else if (s->former_until == UINT64_MAX)
		s->former_until = now + NEXT_MS;
	if (*pod)
		snprintf(
			text, ERR_TEXT,
			"pod %s of Harvester's controller is on node %s; pcidevfs-sync writes nothing "
			"until that pod is gone%s",
			pod, s->o->node,
			roll_barred(s->rolls[FORMER_POD])
				? ", and may no longer see it: apply "
				  "deploy/kubernetes/harvester/swap-wait.yaml"
				: "");
	else if (now < s->former_until)
		snprintf(
			text, ERR_TEXT,
			"the pod of Harvester's controller has left node %s; pcidevfs-sync waits %d s "
			"for another one, and writes nothing until then",
			s->o->node, NEXT_MS / 1000);
}

bool former_waits(struct sync *s)
{
	json_object *node = object_find(&s->world, NODE, s->o->node);
	char text[ERR_TEXT];

	sentence(s, text);
	s->former_told = s->former_told && !strcmp(s->said[SAY_FORMER], text);
	sync_say(s, SAY_FORMER, text);
	if (!*text)
		return false;
	source_by(&s->work, s->former_until);
	writes_do(s->writes, NULL); /* what has not been sent is taken back */
	if (node && !s->former_told && s->former_until == UINT64_MAX) {
		sync_event(s, NODE, node, "Waiting", text);
		s->former_told = true;
	}
	return true;
}
