// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A KubeVirt CR and objects of nodes, of any form: a patch can be applied to what it was made of,
 * leaves all that others wrote, in its order, and leads to where nothing more is to be done.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "k8s-sync/agree/js.h"
#include "k8s-sync/api/intake.h"
#include "k8s-sync/cluster/permitted.h"
#include "tests/lib/json_patch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	struct picks picks;
	json_object *cr; /* the last document that is not of one of the kinds */
};

static void take(void *ctx, json_object *doc)
{
	struct input *in = ctx;
	const char *kind = js_text(doc, "kind");

	for (enum pick_kind k = 0; k < PICK_KINDS; k++) {
		if (!strcmp(kind, pick_rows[k].plural)) {
			check(picks_put(in->picks.table[k], k, doc) >= 0);
			return;
		}
	}
	json_object_put(in->cr);
	in->cr = json_object_get(doc);
}

static bool is_external(json_object *entry)
{
	return json_object_get_boolean(js_get(entry, "externalResourceProvider"));
}

/* Those that are not external are nobody's but their writer's. */
static json_object *foreign(const struct dialect *d, json_object *cr)
{
	json_object *all = json_object_new_array();
	char path[96];

	for (enum list_id l = 0; l < LISTS; l++) {
		json_object *list;

		snprintf(path, sizeof(path), "%s.permittedHostDevices.%s", d->above, d->lists[l]);
		list = js_get(cr, path);
		for (size_t i = 0; i < js_length(list); i++)
			if (!is_external(json_object_array_get_idx(list, i)))
				json_object_array_add(all, json_object_get(json_object_array_get_idx(
								   list, i)));
	}
	return all;
}

static void look(const struct dialect *d, struct input *in)
{
	_json_ json_object *cr = json_tokener_parse(js_line(in->cr)), *before = foreign(d, cr);
	_json_ json_object *after = NULL, *patch = NULL, *since = NULL;
	struct permitted p;

	permitted_decide(d, cr, &in->picks, &since, 0, &p);
	permitted_free(&p);
	permitted_decide(d, cr, &in->picks, &since, LINGER_MS, &p);
	patch = json_tokener_parse(js_line(p.patch));
	permitted_free(&p);
	if (!patch)
		return;
	if (patch_apply(cr, patch))
		return; /* what is above the lists is no object: the server refuses */
	after = foreign(d, cr);
	check(json_object_equal(before, after));
	permitted_decide(d, cr, &in->picks, &since, LINGER_MS, &p);
	check(!p.patch);
	permitted_free(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { 0 };
	struct intake r;

	for (enum pick_kind k = 0; k < PICK_KINDS; k++)
		in.picks.table[k] = picks_table();
	if (!intake_open(&r, true)) {
		r.document = take;
		r.ctx = &in;
		if (intake_feed(&r, (const char *)data, size))
			check(r.err.text[0] != 0);
		intake_close(&r);
	}
	if (in.cr) {
		look(&dialect_kubevirt, &in);
		look(&dialect_hyperconverged, &in);
	}
	json_object_put(in.cr);
	for (enum pick_kind k = 0; k < PICK_KINDS; k++)
		lh_table_free(in.picks.table[k]);
	return 0;
}
