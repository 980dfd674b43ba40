// SPDX-License-Identifier: GPL-2.0-or-later
/* The core Node's label by which Harvester gives NVIDIA's driver to nodes with an SRIOVGPUDevice.
 * It is no agreement: it is read when the Node is, and nobody is asked. */
#include <stdio.h>
#include <string.h>

#include "k8s-sync/api/http.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"
#include "sync.h"

#define LABEL "sriovgpu.harvesterhci.io/driver-needed"

void label_read(struct sync *s, json_object *node)
{
	const char *value = js_meta(node, "labels", LABEL);

	s->label = value && !strcmp(value, "true") ? LABEL_SET : LABEL_NOT_SET;
	sync_touch(s);
}

static void on_labelled(struct sync *s, const struct reply *r)
{
	if (!r->err.code || r->away || r->status == 401 || r->status == 409)
		return;
	/* Until the Node is read again: who has no Harvester need not give the right to. */
	s->label = LABEL_UNKNOWN;
	say("the label " LABEL " cannot be changed: %s", r->err.text);
}

void label_ensure(struct sync *s, bool gpus)
{
	const struct world *w = &s->world;
	_json_ json_object *body = NULL;
	bool needed;

	if (!w->listed[GPU_DEVICE] || s->label == LABEL_UNKNOWN)
		return;
	/* An object may be about to be made. */
	needed = gpus || json_object_object_length(w->objects[GPU_DEVICE]) > 0;
	if (needed == (s->label == LABEL_SET))
		return;
	body = json_object_new_object();
	if (needed)
		js_set_meta(body, "labels", LABEL, "true");
	else
		js_unset_meta(body, "labels", LABEL);
	node_patch(s, body, on_labelled);
}
