/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Changes of objects: by the object's path a JSON patch (RFC 6902). Pure. */
#ifndef SYNC_CHANGES_H
#define SYNC_CHANGES_H

#include <json-c/json.h>

/* Appends an operation at the formatted path. Takes the value, which "remove" has not; NULL: null,
 * which a test finds where nothing is. */
__attribute__((format(printf, 4, 5))) void op_add(json_object *ops, const char *op,
						  json_object *value, const char *format, ...);
void op_text(json_object *ops, const char *op, const char *path, const char *text);

/* Takes the patch. api: GROUP/VERSION; space "": of none; subresource "": the object itself. */
void changes_add(json_object *changes, const char *api, const char *space, const char *plural,
		 const char *name, const char *subresource, json_object *patch);

#endif
