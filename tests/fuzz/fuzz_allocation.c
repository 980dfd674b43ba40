// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Objects of any form, as an API server tells them, and what is told of it on VMs and devices: each
 * change is about an object by one path, and has a test in front.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "k8s-sync/agree/js.h"
#include "k8s-sync/api/intake.h"
#include "k8s-sync/cluster/allocation.h"
#include "k8s-sync/cluster/lost.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct cluster_seen {
	struct picks picks;
	json_object *pods, *vms, *nodes;
};

static void take(void *ctx, json_object *o)
{
	struct cluster_seen *s = ctx;
	const char *kind = js_text(o, "kind");
	json_object *digest;
	char key[1024];

	snprintf(key, sizeof(key), "%.500s/%.500s", js_text(o, "metadata.namespace"),
		 js_text(o, "metadata.name"));
	if (!strcmp(kind, "Pod") && (digest = pod_digest(o)))
		json_object_object_add(s->pods, key, digest);
	else if (!strcmp(kind, "VirtualMachine") && (digest = vm_digest(o)))
		json_object_object_add(s->vms, key, digest);
	else if (!strcmp(kind, "Node"))
		json_object_object_add(s->nodes, key, node_digest(o));
	else if (!strcmp(kind, "PCIDevice"))
		picks_put(s->picks.table[PICK_PCI_DEVICE], PICK_PCI_DEVICE, o);
	else if (!strcmp(kind, "USBDevice"))
		picks_put(s->picks.table[PICK_USB_DEVICE], PICK_USB_DEVICE, o);
	else if (!strcmp(kind, "PCIDeviceClaim"))
		picks_put(s->picks.table[PICK_PCI_CLAIM], PICK_PCI_CLAIM, o);
}

static void check_changes(json_object *changes)
{
	json_object_object_foreach(changes, path, patch)
	{
		json_object *first = json_object_array_get_idx(patch, 0);

		check(!strncmp(path, "/apis/", 6) && !strpbrk(path, "?# \n"));
		check(!strstr(path, "/../") && !strstr(path, "/./"));
		check(js_length(patch) >= 2 && !strcmp(js_text(first, "op"), "test"));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cluster_seen s = { .pods = json_object_new_object(),
				  .vms = json_object_new_object(),
				  .nodes = json_object_new_object() };
	json_object *changes;
	struct intake in;

	for (enum pick_kind k = 0; k < PICK_KINDS; k++)
		s.picks.table[k] = picks_table();
	if (!intake_open(&in, true)) {
		in.document = take;
		in.ctx = &s;
		intake_feed(&in, (const char *)data, size);
		intake_close(&in);
	}
	changes = allocation_decide(&s.picks, s.pods, s.vms);
	lost_decide(&s.picks, s.nodes, "2026-11-29T02:00:00Z", changes);
	check_changes(changes);
	json_object_put(changes);
	for (enum pick_kind k = 0; k < PICK_KINDS; k++)
		lh_table_free(s.picks.table[k]);
	json_object_put(s.pods);
	json_object_put(s.vms);
	json_object_put(s.nodes);
	return 0;
}
