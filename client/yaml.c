// SPDX-License-Identifier: GPL-2.0-or-later
#include "yaml.h"

#include <errno.h>
#include <string.h>
#include <yaml.h>

#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

struct yaml_reader {
	yaml_parser_t parser;
	yaml_event_t e; /* the last one */
	const char *text, *end; /* which need not be a NUL */
	size_t nodes;
	struct err *err;
};

static int refuse(struct yaml_reader *r, const char *why)
{
	return fail(r->err, EINVAL, "line %zu: %s", r->e.start_mark.line + 1, why);
}

/* Does the line, from 0, have a tab among the blanks at its beginning? */
static bool is_tabbed(const struct yaml_reader *r, size_t line)
{
	const char *at = r->text;

	for (; at < r->end && line; at++)
		line -= *at == '\n';
	while (at < r->end && *at == ' ')
		at++;
	return at < r->end && *at == '\t';
}

static int next_event(struct yaml_reader *r)
{
	const yaml_parser_t *p = &r->parser;
	size_t line;

	yaml_event_delete(&r->e);
	if (yaml_parser_parse(&r->parser, &r->e))
		return 0;
	if (p->error == YAML_MEMORY_ERROR)
		return fail_nomem(r->err);
	line = p->problem_mark.line;
	/* Of bytes that are no characters only the place among the bytes is told. */
	if (p->error == YAML_READER_ERROR)
		for (size_t i = line = 0; i < p->problem_offset && r->text + i < r->end; i++)
			line += r->text[i] == '\n';
	return fail(r->err, EINVAL, "line %zu: this is not YAML: %s", line + 1,
		    is_tabbed(r, line) ? "a tab is not taken before a value; write blanks"
		    : p->problem       ? p->problem
				       : "unreadable");
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
static int take_text(struct yaml_reader *r, char **ret)
{
	const char *value = (const char *)r->e.data.scalar.value;
	size_t n = r->e.data.scalar.length;

	if (memchr(value, '\0', n))
		return refuse(r, "a text holds a NUL");
	*ret = strndup(value, n);
	return *ret ? 0 : fail_nomem(r->err);
}

static int read_text(struct yaml_reader *r, json_object **ret)
{
	_free_ char *text = NULL;
	int rc = take_text(r, &text);

	*ret = rc ? NULL : json_object_new_string(text);
	return rc ?: *ret ? 0 : fail_nomem(r->err);
}

/* Goes on to the value behind it. */
static int read_key(struct yaml_reader *r, json_object *map, char **ret)
{
	int rc;

	if (r->e.type != YAML_SCALAR_EVENT || has_anchor(&r->e))
		return refuse(r, "a key must be a plain text");
	rc = take_text(r, ret);
	if (!rc && json_object_object_get_ex(map, *ret, NULL))
		return fail(r->err, EINVAL, "line %zu: \"%.64s\" comes twice",
			    r->e.start_mark.line + 1, *ret);
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
		uintptr_t line = r->e.start_mark.line + 1;
		_free_ char *key = NULL;
		json_object *item = NULL;

		rc = (map ? read_key(r, in, &key) : 0) ?: read_node(r, depth, &item);
		if (rc)
			return rc;
		json_object_set_userdata(item, (void *)line, NULL);
		if (map ? json_object_object_add(in, key, item) : json_object_array_add(in, item)) {
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
		return refuse(r, "the file is nested too deeply");
	if (++r->nodes > YAML_NODES_MAX)
		return fail(r->err, E2BIG, "line %zu: the file has more than %d values",
			    r->e.start_mark.line + 1, YAML_NODES_MAX);
	if (r->e.type == YAML_SCALAR_EVENT)
		return read_text(r, ret);
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

unsigned int yml_line(json_object *o)
{
	return (unsigned int)(uintptr_t)json_object_get_userdata(o);
}

int yml_read(const char *text, size_t size, json_object **ret, struct err *err)
{
	struct yaml_reader r = { .text = text, .end = text + size, .err = err };
	int rc;

	*ret = NULL;
	if (size > YAML_SIZE_MAX)
		return fail(err, E2BIG, "the file has more than %d bytes", YAML_SIZE_MAX);
	if (!yaml_parser_initialize(&r.parser))
		return fail_nomem(err);
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, size);
	do /* the stream and the document begin */
		rc = next_event(&r);
	while (!rc &&
	       (r.e.type == YAML_STREAM_START_EVENT || r.e.type == YAML_DOCUMENT_START_EVENT));
	if (!rc && r.e.type == YAML_STREAM_END_EVENT)
		rc = fail(err, EINVAL, "the file is empty");
	rc = rc ?: read_node(&r, 0, ret);
	/* Another document, or the end */
	while (!rc && r.e.type != YAML_STREAM_END_EVENT) {
		rc = next_event(&r);
		if (!rc && r.e.type == YAML_DOCUMENT_START_EVENT)
			rc = refuse(&r, "a second document begins; write one file for each");
	}
	if (rc) {
		json_object_put(*ret);
		*ret = NULL;
	}
	yaml_event_delete(&r.e);
	yaml_parser_delete(&r.parser);
	return rc;
}
