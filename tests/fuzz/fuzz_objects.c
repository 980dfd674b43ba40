// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A watch of claims of any form, and what is decided of it: the lines for the tree are about the one
 * device that is there, a value of one line, and only where an object names that device.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "k8s-sync/agree/decide.h"
#include "k8s-sync/agree/inventory.h"
#include "k8s-sync/api/intake.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ID "0000:05:00.0"

static void check(int holds)
{
	if (!holds)
		abort();
}

static void take(void *ctx, json_object *doc)
{
	struct world *w = ctx;
	struct err err = { 0 };
	json_object *o;

	switch (watch_event(doc, &o, &err)) {
	case WATCHED_ADDED:
		if (object_is_ours(w, PCI_CLAIM, o) && *js_text(o, "metadata.name"))
			json_object_object_add(w->objects[PCI_CLAIM], js_text(o, "metadata.name"),
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
	size_t n = strlen(lines);

	check(!strncmp(lines, ID "/", strlen(ID) + 1));
	check(n && lines[n - 1] == '\n' && strchr(lines, '\n') == lines + n - 1);
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
	char line[] = "class=0x010802 driver=nvme claim=none resource_name=a.com/B iommu_group=1";
	struct intake r;

	for (enum kind_id k = 0; k < KINDS; k++) {
		w.objects[k] = json_object_new_object();
		w.listed[k] = true;
	}
	json_object_object_add(
		w.objects[PCI_DEVICE], "node1-000005000",
		json_tokener_parse("{\"metadata\":{\"name\":\"node1-000005000\","
				   "\"annotations\":{\"pcidevfs/claim\":\"none>alice\"}}}"));
	check(!inventory_take(&inv, ID, line));
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
