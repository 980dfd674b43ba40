// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A watch of objects of any form and kind, and what is decided of it: the lines for the tree are
 * about devices that are there, and each is one line.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "k8s-sync/agree/decide.h"
#include "k8s-sync/agree/inventory.h"
#include "k8s-sync/api/intake.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const devices[][2] = {
	{ "0000:01:00.0", "class=0x020000 kind=sriov-nic claim=none sriov_totalvfs=8 "
			  "sriov_numvfs=0 netdev=eth0 claimable=yes" },
	{ "0000:05:00.0", "class=0x010802 driver=nvme claim=none resource_name=a.com/B "
			  "resource_override=none iommu_group=1" },
	{ "0000:08:00.0", "class=0x030200 kind=sriov-gpu claim=none enabled=1" },
	{ "0000:08:00.4", "class=0x030200 kind=vgpu claim=none profile=none physfn=0000:08:00.0" },
	{ "usb/1-1", "kind=usb vendor=0627 device=0001 class=030000 claim=alice serial=S busnum=1 "
		     "devnum=2 resource_name=kubevirt.io/usb-0627-0001" },
};

static bool is_device(const char *id, size_t n)
{
	for (size_t i = 0; i < sizeof(devices) / sizeof(*devices); i++)
		if (strlen(devices[i][0]) == n && !memcmp(devices[i][0], id, n))
			return true;
	return false;
}

static enum kind_id kind_of(json_object *o)
{
	for (enum kind_id k = 0; k < KINDS; k++)
		if (!strcmp(js_text(o, "kind"), kinds[k].kind))
			return k;
	return PCI_CLAIM;
}

static void take(void *ctx, json_object *doc)
{
	struct world *w = ctx;
	struct err err = { 0 };
	json_object *o;

	switch (watch_event(doc, &o, &err)) {
	case WATCHED_ADDED:
		if (object_is_ours(w, kind_of(o), o) && *js_text(o, "metadata.name"))
			json_object_object_add(w->objects[kind_of(o)], js_text(o, "metadata.name"),
					       json_object_get(o));
		break;
	case WATCHED_ERROR:
		check(err.text[0] != 0);
		break;
	default:
		break;
	}
}

static void check_lines(const char *lines)
{
	const char *end;

	for (; *lines; lines = end + 1) {
		const char *space = strchr(lines, ' ');

		end = strchr(lines, '\n');
		check(end && space && space < end);
		while (*space != '/')
			check(--space > lines);
		check(is_device(lines, (size_t)(space - lines)));
	}
}

static void look(struct world *w)
{
	struct action *list = decide(w);

	for (struct action *a = list; a; a = a->next)
		if (a->act == ACT_CTL)
			check_lines(a->lines);
	actions_free(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct inventory inv = { 0 };
	struct world w = { .inv = &inv, .node = "node1", .node_uid = "U", .now = "NOW" };
	struct intake r;

	for (enum kind_id k = 0; k < KINDS; k++) {
		w.objects[k] = json_object_new_object();
		w.listed[k] = true;
	}
	json_object_object_add(
		w.objects[PCI_DEVICE], "node1-000005000",
		json_tokener_parse("{\"metadata\":{\"name\":\"node1-000005000\","
				   "\"annotations\":{\"pcidevfs/claim\":\"none>alice\"}}}"));
	for (size_t i = 0; i < sizeof(devices) / sizeof(*devices); i++) {
		char *line = strdup(devices[i][1]);

		check(line && !inventory_take(&inv, devices[i][0], line));
		free(line);
	}
	if (!intake_open(&r, true)) {
		r.document = take;
		r.ctx = &w;
		if (intake_feed(&r, (const char *)data, size))
			check(r.err.text[0] != 0);
		intake_close(&r);
	}
	look(&w);
	for (enum kind_id k = 0; k < KINDS; k++)
		json_object_put(w.objects[k]);
	inventory_free(&inv);
	return 0;
}
