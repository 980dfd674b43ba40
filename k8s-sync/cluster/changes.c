// SPDX-License-Identifier: GPL-2.0-or-later
#include "changes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "k8s-sync/agree/js.h"
#include "k8s-sync/api/intake.h"

void op_add(json_object *ops, const char *op, json_object *value, const char *format, ...)
{
	json_object *o = json_object_new_object();
	char path[256];
	va_list args;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	js_set_text(o, "op", op);
	js_set_text(o, "path", path);
	if (strcmp(op, "remove"))
		json_object_object_add(o, "value", value);
	json_object_array_add(ops, o);
}

void op_text(json_object *ops, const char *op, const char *path, const char *text)
{
	op_add(ops, op, json_object_new_string(text), "%s", path);
}

void changes_add(json_object *changes, const char *api, const char *space, const char *plural,
		 const char *name, const char *subresource, json_object *patch)
{
	struct out path = { 0 };

	out_printf(&path, "/apis/%s/", api);
	if (*space) {
		out_printf(&path, "namespaces/");
		path_put(&path, space);
		out_printf(&path, "/");
	}
	out_printf(&path, "%s/", plural);
	path_put(&path, name);
	out_printf(&path, "%s%s", *subresource ? "/" : "", subresource);
	json_object_object_add(changes, out_text(&path), patch);
	out_free(&path);
}
