/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads YAML from people as JSON, whose values are all texts: bounded in size, depth and number of
 * values; anchors, aliases and tags are refused, a key must not come twice. Pure. */
#ifndef SYNC_YAML_H
#define SYNC_YAML_H

#include <json-c/json.h>

struct err;

enum { YAML_SIZE_MAX = 1024 * 1024, YAML_NODES_MAX = 20000, YAML_DEPTH_MAX = 24 };

/* Reads the first document. Returns 0; -EINVAL, -E2BIG or -ENOMEM with the line and the cause, and
 * *ret is NULL. libyaml has names of the form yaml_ beyond its header: ours are yml_. */
int yml_read(const char *text, size_t size, json_object **ret, struct err *err);

#endif
