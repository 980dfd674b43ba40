/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads YAML from people as JSON, whose values are all texts: bounded in size, depth and number of
 * values; anchors, aliases and tags are refused, a key must not come twice. Pure. */
#ifndef CLIENT_YAML_H
#define CLIENT_YAML_H

#include <json-c/json.h>

struct err;

enum { YAML_SIZE_MAX = 1024 * 1024, YAML_NODES_MAX = 20000, YAML_DEPTH_MAX = 24 };

/* Reads the only document. Returns 0; -EINVAL, -E2BIG or -ENOMEM with the line and the cause, and
 * *ret is NULL. libyaml has names of the form yaml_ beyond its header: ours are yml_. */
int yml_read(const char *text, size_t size, json_object **ret, struct err *err);
/* The line of a value that was read, of a member that of its key, from 1; 0: of NULL. */
unsigned int yml_line(json_object *o);

#endif
