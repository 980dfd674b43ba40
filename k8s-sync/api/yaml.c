// SPDX-License-Identifier: GPL-2.0-or-later
#include "yaml.h"

#include <errno.h>
#include <string.h>
#include <yaml.h>

#include "k8s-sync/agree/js.h"
#include "pcidevfs/err.h"

struct yaml_reader {
	yaml_parser_t parser;
	yaml_event_t e; /* the last one */
	size_t nodes;
	struct err *err;
};

static int refuse(struct yaml_reader *r, const char *why)
{
	return fail(r->err, EINVAL, "line %zu: %s", r->e.start_mark.line + 1, why);
}

static int next_event(struct yaml_reader *r)
{
	const yaml_parser_t *p = &r->parser;

	yaml_event_delete(&r->e);
	if (yaml_parser_parse(&r->parser, &r->e))
		return 0;
	if (p->error == YAML_MEMORY_ERROR)
		return fail_nomem(r->err);
	return fail(r->err, EINVAL, "line %zu: this is not YAML: %s", p->problem_mark.line + 1,
		    p->problem ? p->problem : "unreadable");
}

static bool has_anchor(const yaml_event_t *e)
{
	switch (e->type) {
	case YAML_SCALAR_EVENT:
		return e->data.scalar.anchor || e->data.scalar.tag;
	case YAML_SEQUENCE_START_EVENT:
		return e->data.sequence_start.anchor || e->data.sequence_start.tag;
	case YAML_MAPPING_START_EVENT:
		return e->data.mapping_start.anchor || e->data.mapping_start.tag;
	default:
		return e->type == YAML_ALIAS_EVENT;
	}
}

/* The text of a scalar; NUL inside would hide the rest. */
static int take_text(struct yaml_reader *r, json_object **ret)
{
	const char *value = (const char *)r->e.data.scalar.value;
	size_t n = r->e.data.scalar.length;

	if (memchr(value, '\0', n))
		return refuse(r, "a text holds a NUL");
	*ret = json_object_new_string_len(value, (int)n);
	return *ret ? 0 : fail_nomem(r->err);
}

/* Goes on to the value behind it. */
static int read_key(struct yaml_reader *r, json_object *map, json_object **ret)
{
	int rc;

	if (r->e.type != YAML_SCALAR_EVENT || has_anchor(&r->e))
		return refuse(r, "a key must be a plain text");
	rc = take_text(r, ret);
	if (!rc && json_object_object_get_ex(map, json_object_get_string(*ret), NULL))
		return fail(r->err, EINVAL, "line %zu: \"%.64s\" comes twice",
			    r->e.start_mark.line + 1, json_object_get_string(*ret));
	return rc ?: next_event(r);
}

static int read_node(struct yaml_reader *r, int depth, json_object **ret);

/* The members of a map, or the items of a list, up to its end. */
static int read_members(struct yaml_reader *r, int depth, json_object *in)
{
	bool map = json_object_is_type(in, json_type_object);
	yaml_event_type_t end = map ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT;
	int rc;

	while (!(rc = next_event(r)) && r->e.type != end) {
		_json_ json_object *key = NULL;
		json_object *item = NULL;

		rc = (map ? read_key(r, in, &key) : 0) ?: read_node(r, depth, &item);
		if (rc)
			return rc;
		if (map ? json_object_object_add(in, json_object_get_string(key), item)
			: json_object_array_add(in, item)) {
			json_object_put(item);
			return fail_nomem(r->err);
		}
	}
	return rc;
}

static int read_node(struct yaml_reader *r, int depth, json_object **ret)
{
	int rc;

	if (has_anchor(&r->e))
		return refuse(r, "anchors, aliases and tags are not taken; write the value itself");
	if (depth > YAML_DEPTH_MAX)
		return refuse(r, "it is nested too deeply");
	if (++r->nodes > YAML_NODES_MAX)
		return fail(r->err, E2BIG, "line %zu: it has more than %d values",
			    r->e.start_mark.line + 1, YAML_NODES_MAX);
	if (r->e.type == YAML_SCALAR_EVENT)
		return take_text(r, ret);
	if (r->e.type != YAML_MAPPING_START_EVENT && r->e.type != YAML_SEQUENCE_START_EVENT)
		return refuse(r, "a value is missing");
	*ret = r->e.type == YAML_MAPPING_START_EVENT ? json_object_new_object()
						     : json_object_new_array();
	rc = *ret ? read_members(r, depth + 1, *ret) : fail_nomem(r->err);
	if (rc) {
		json_object_put(*ret);
		*ret = NULL;
	}
	return rc;
}

int yml_read(const char *text, size_t size, json_object **ret, struct err *err)
{
	struct yaml_reader r = { .err = err };
	int rc;

	*ret = NULL;
	if (size > YAML_SIZE_MAX)
		return fail(err, E2BIG, "it has more than %d bytes", YAML_SIZE_MAX);
	if (!yaml_parser_initialize(&r.parser))
		return fail_nomem(err);
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, size);
	do /* the stream and the document begin */
		rc = next_event(&r);
	while (!rc && (r.e.type == YAML_STREAM_START_EVENT ||
		       r.e.type == YAML_DOCUMENT_START_EVENT));
	if (!rc && r.e.type == YAML_STREAM_END_EVENT)
		rc = fail(err, EINVAL, "it is empty");
	rc = rc ?: read_node(&r, 0, ret);
	yaml_event_delete(&r.e);
	yaml_parser_delete(&r.parser);
	return rc;
}
