/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON by path. Objects come from outside: nothing is taken for granted of their form. */
#ifndef SYNC_JS_H
#define SYNC_JS_H

#include <json-c/json.h>
#include <stdbool.h>

#include "pcidevfs/util.h"

static inline void js_putp(json_object **o)
{
	json_object_put(*o);
}
#define _json_ __attribute__((cleanup(js_putp)))

/* The member at a path such as "spec.address"; NULL if there is none. */
json_object *js_get(json_object *o, const char *path);
/* The text there; "" if it is not a string. */
const char *js_text(json_object *o, const char *path);
/* A label or annotation: `part` is "labels" or "annotations". NULL if there is none. */
const char *js_meta(json_object *o, const char *part, const char *key);

/* How many members a list has; 0: none, or it is not a list. */
size_t js_length(json_object *list);
/* The first of a list's members that has this text, which is not "", at the path: "" for the member
 * itself. NULL: none has, or it is not a list. */
json_object *js_find(json_object *list, const char *path, const char *text);

/* Sets a member, whose reference it takes; objects on the path are made. NULL: does nothing. */
void js_set(json_object *o, const char *path, json_object *value);
void js_set_text(json_object *o, const char *path, const char *text);
void js_set_meta(json_object *o, const char *part, const char *key, const char *value);
/* Of a merge patch: takes it out. */
void js_unset_meta(json_object *o, const char *part, const char *key);

/* Does `have` hold all that `want` holds? Members only of `have` are others' business. */
bool js_covers(json_object *have, json_object *want);
/* The members of `have` that `want` lacks, each as the null of a merge patch, which takes it out.
 * NULL: it lacks none. Members of lists do not count. */
json_object *js_surplus(json_object *have, json_object *want);

/* As JSON, without a blank; valid until o changes. */
const char *js_line(json_object *o);
/* Appends as YAML. */
void js_yaml(json_object *o, struct out *ret);

#endif
