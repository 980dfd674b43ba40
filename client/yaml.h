/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads YAML from people: bounded in size, depth and number of nodes; anchors, aliases and tags are
 * refused, a key must not come twice. Pure. */
#ifndef CLIENT_YAML_H
#define CLIENT_YAML_H

#include <stddef.h>

struct err;

enum yaml_type { YAML_TEXT, YAML_LIST, YAML_MAP };

struct yaml {
	enum yaml_type type;
	char *key;	    /* in a map; NULL elsewhere */
	char *text;	    /* YAML_TEXT */
	struct yaml *first; /* of a list or a map */
	struct yaml *next;
	unsigned int line; /* from 1 */
};

enum { YAML_SIZE_MAX = 1024 * 1024, YAML_NODES_MAX = 20000, YAML_DEPTH_MAX = 24 };

/* Reads the first document. Returns 0; -EINVAL, -E2BIG or -ENOMEM with the line and the cause. */
int yml_read(const char *text, size_t size, struct yaml **ret, struct err *err);
void yml_free(struct yaml *y);

/* libyaml has names of this form beyond its header: ours are yml_. */
/* The member of a map; NULL: none, or not a map. */
const struct yaml *yml_get(const struct yaml *map, const char *key);
/* The member's text; NULL if there is none. */
const char *yml_text(const struct yaml *map, const char *key);

#endif
