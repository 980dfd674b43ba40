/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Applies a JSON patch (RFC 6902) as an API server does: test, add and remove, and a test for null
 * of what is not there. */
#ifndef PCIDEVFS_TESTS_JSON_PATCH_H
#define PCIDEVFS_TESTS_JSON_PATCH_H

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "k8s-sync/agree/js.h"

/* Finds what holds the last part of the path, which it returns in `last`. NULL: it is not there. */
static json_object *patch_holder(json_object *o, const char *path, char last[static 256])
{
	while (*path == '/' && o) {
		size_t n = strcspn(path + 1, "/");
		char *slash;

		if (n > 255)
			return NULL;
		memcpy(last, path + 1, n);
		last[n] = '\0';
		while ((slash = strstr(last, "~1"))) {
			*slash = '/';
			memmove(slash + 1, slash + 2, strlen(slash + 2) + 1);
		}
		path += 1 + n;
		if (!*path)
			return o;
		if (json_object_is_type(o, json_type_array))
			o = json_object_array_get_idx(o, strtoul(last, NULL, 10));
		else if (!json_object_object_get_ex(o, last, &o))
			return NULL;
	}
	return NULL;
}

static int patch_add(json_object *holder, const char *last, json_object *value)
{
	if (json_object_is_type(holder, json_type_object))
		return json_object_object_add(holder, last, json_object_get(value));
	return strcmp(last, "-") ? -1 : json_object_array_add(holder, json_object_get(value));
}

static int patch_one(json_object *o, json_object *op)
{
	const char *what = js_text(op, "op");
	char last[256] = "";
	json_object *holder = patch_holder(o, js_text(op, "path"), last), *have = NULL;
	json_object *value = json_object_object_get(op, "value");
	size_t at = strtoul(last, NULL, 10);

	if (!holder)
		return -1;
	if (json_object_is_type(holder, json_type_array))
		have = json_object_array_get_idx(holder, at);
	else
		json_object_object_get_ex(holder, last, &have);
	if (!strcmp(what, "test"))
		return json_object_equal(have, value) ? 0 : -1;
	if (!strcmp(what, "add"))
		return patch_add(holder, last, value);
	if (strcmp(what, "remove") || !json_object_is_type(holder, json_type_array))
		return -1;
	return json_object_array_del_idx(holder, at, 1);
}

/* Returns 0, or -1 if a test fails or an operation is not possible. */
static int patch_apply(json_object *o, json_object *patch)
{
	for (size_t i = 0; i < js_length(patch); i++)
		if (patch_one(o, json_object_array_get_idx(patch, i)))
			return -1;
	return 0;
}

#endif
