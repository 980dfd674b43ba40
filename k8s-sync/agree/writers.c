// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "agree.h"
#include "pcidevfs/util.h"

/* Not a field of the server's. */
#define OURS "metadata.ours"

static const struct {
	const char *field, *path, *us;
} fields[] = {
	{ WRITTEN_USER, "fieldsV1.f:spec.f:userName", SPEC_MANAGER },
	{ WRITTEN_RESOURCE, "fieldsV1.f:status.f:resourceName", STATUS_MANAGER },
};

static bool is_ours_alone(json_object *all, const char *path, const char *us)
{
	bool ours = false;

	for (size_t i = 0; i < js_length(all); i++) {
		json_object *m = json_object_array_get_idx(all, i);

		if (!js_get(m, path))
			continue;
		if (strcmp(js_text(m, "manager"), us))
			return false;
		ours = true;
	}
	return ours;
}

void writers_note(json_object *o)
{
	json_object *all = js_get(o, "metadata.managedFields"), *ours = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (!is_ours_alone(all, fields[i].path, fields[i].us))
			continue;
		ours = ours ?: json_object_new_object();
		js_set(ours, fields[i].field, json_object_new_boolean(true));
	}
	json_object_object_del(js_get(o, "metadata"), "managedFields");
	/* A note that somebody sends counts for nothing. */
	json_object_object_del(js_get(o, "metadata"), "ours");
	js_set(o, OURS, ours);
}

bool writers_is_us(json_object *o, const char *field)
{
	return js_get(js_get(o, OURS), field);
}
