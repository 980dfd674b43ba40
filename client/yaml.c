// SPDX-License-Identifier: GPL-2.0-or-later
#include "yaml.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "pcidevfs/err.h"

struct yaml_reader {
	yaml_parser_t parser;
	size_t nodes;
	struct err *err;
};

void yml_free(struct yaml *y)
{
	for (struct yaml *next; y; y = next) {
		next = y->next;
		yml_free(y->first);
		free(y->key);
		free(y->text);
		free(y);
	}
}

static int refuse(struct yaml_reader *r, const yaml_event_t *e, const char *why)
{
	return fail(r->err, EINVAL, "line %zu: %s", e->start_mark.line + 1, why);
}

static int next_event(struct yaml_reader *r, yaml_event_t *e)
{
	const yaml_parser_t *p = &r->parser;

	if (yaml_parser_parse(&r->parser, e))
		return 0;
	if (p->error == YAML_MEMORY_ERROR)
		return fail(r->err, ENOMEM, "no memory");
	return fail(r->err, EINVAL, "line %zu: this is not YAML: %s", p->problem_mark.line + 1,
		    p->problem ? p->problem : "unreadable");
}

static int new_node(struct yaml_reader *r, const yaml_event_t *e, struct yaml **ret)
{
	if (++r->nodes > YAML_NODES_MAX)
		return fail(r->err, E2BIG, "line %zu: it has more than %d values",
			    e->start_mark.line + 1, YAML_NODES_MAX);
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return fail(r->err, ENOMEM, "no memory");
	(*ret)->line = (unsigned int)e->start_mark.line + 1;
	return 0;
}

/* The text of a scalar; NUL inside would hide the rest. */
static int take_text(struct yaml_reader *r, const yaml_event_t *e, char **ret)
{
	const char *value = (const char *)e->data.scalar.value;
	size_t n = e->data.scalar.length;

	if (memchr(value, '\0', n))
		return refuse(r, e, "a text holds a NUL");
	*ret = strndup(value, n);
	return *ret ? 0 : fail(r->err, ENOMEM, "no memory");
}

static int read_node(struct yaml_reader *r, const yaml_event_t *e, int depth, struct yaml **ret);

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

/* Reads the value behind a key, or an item. */
static int read_item(struct yaml_reader *r, int depth, char *key, struct yaml *in,
		     struct yaml **last)
{
	struct yaml *item = NULL;
	yaml_event_t e;
	int rc;

	for (const struct yaml *y = key ? in->first : NULL; y; y = y->next)
		if (!strcmp(y->key, key)) {
			rc = fail(r->err, EINVAL, "line %u: \"%.64s\" comes twice", y->line, key);
			free(key);
			return rc;
		}
	rc = next_event(r, &e);
	if (rc) {
		free(key);
		return rc;
	}
	rc = read_node(r, &e, depth, &item);
	yaml_event_delete(&e);
	if (item)
		item->key = key;
	else
		free(key);
	/* also a half one, which is freed with the whole */
	if (item && *last)
		(*last)->next = item;
	else if (item)
		in->first = item;
	*last = item ? item : *last;
	return rc;
}

static int read_map(struct yaml_reader *r, int depth, struct yaml *map)
{
	struct yaml *last = NULL;
	int rc = 0;

	while (!rc) {
		char *key = NULL;
		yaml_event_t e;
		bool end;

		rc = next_event(r, &e);
		if (rc)
			break;
		end = e.type == YAML_MAPPING_END_EVENT;
		if (!end && (e.type != YAML_SCALAR_EVENT || has_anchor(&e)))
			rc = refuse(r, &e, "a key must be a plain text");
		else if (!end)
			rc = take_text(r, &e, &key);
		yaml_event_delete(&e);
		if (end)
			return 0;
		rc = rc ?: read_item(r, depth, key, map, &last);
	}
	return rc;
}

static int read_list(struct yaml_reader *r, int depth, struct yaml *list)
{
	struct yaml *last = NULL;
	int rc = 0;

	while (!rc) {
		struct yaml *item = NULL;
		yaml_event_t e;

		rc = next_event(r, &e);
		if (rc)
			break;
		if (e.type == YAML_SEQUENCE_END_EVENT) {
			yaml_event_delete(&e);
			return 0;
		}
		rc = read_node(r, &e, depth, &item);
		yaml_event_delete(&e);
		if (item && last)
			last->next = item;
		else if (item)
			list->first = item;
		last = item ? item : last;
	}
	return rc;
}

/* *ret may be half a node on failure; it belongs to the caller all the same. */
static int read_node(struct yaml_reader *r, const yaml_event_t *e, int depth, struct yaml **ret)
{
	int rc;

	if (has_anchor(e))
		return refuse(r, e,
			      "anchors, aliases and tags are not taken; write the value itself");
	if (depth > YAML_DEPTH_MAX)
		return refuse(r, e, "it is nested too deeply");
	rc = new_node(r, e, ret);
	if (rc)
		return rc;
	switch (e->type) {
	case YAML_SCALAR_EVENT:
		(*ret)->type = YAML_TEXT;
		return take_text(r, e, &(*ret)->text);
	case YAML_MAPPING_START_EVENT:
		(*ret)->type = YAML_MAP;
		return read_map(r, depth + 1, *ret);
	case YAML_SEQUENCE_START_EVENT:
		(*ret)->type = YAML_LIST;
		return read_list(r, depth + 1, *ret);
	default:
		return refuse(r, e, "a value is missing");
	}
}

/* Up to the first value: the stream and the document begin. */
static int read_head(struct yaml_reader *r, yaml_event_t *e)
{
	int rc;

	for (;;) {
		rc = next_event(r, e);
		if (rc ||
		    (e->type != YAML_STREAM_START_EVENT && e->type != YAML_DOCUMENT_START_EVENT))
			return rc;
		yaml_event_delete(e);
	}
}

int yml_read(const char *text, size_t size, struct yaml **ret, struct err *err)
{
	struct yaml_reader r = { .err = err };
	struct yaml *root = NULL;
	yaml_event_t e;
	int rc;

	if (size > YAML_SIZE_MAX)
		return fail(err, E2BIG, "it has more than %d bytes", YAML_SIZE_MAX);
	if (!yaml_parser_initialize(&r.parser))
		return fail(err, ENOMEM, "no memory");
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, size);
	rc = read_head(&r, &e);
	if (!rc) {
		if (e.type == YAML_STREAM_END_EVENT)
			rc = fail(err, EINVAL, "it is empty");
		else
			rc = read_node(&r, &e, 0, &root);
		yaml_event_delete(&e);
	}
	yaml_parser_delete(&r.parser);
	if (rc)
		yml_free(root);
	else
		*ret = root;
	return rc;
}

const struct yaml *yml_get(const struct yaml *map, const char *key)
{
	if (!map || map->type != YAML_MAP)
		return NULL;
	for (const struct yaml *y = map->first; y; y = y->next)
		if (!strcmp(y->key, key))
			return y;
	return NULL;
}

const char *yml_text(const struct yaml *map, const char *key)
{
	const struct yaml *y = yml_get(map, key);

	return y && y->type == YAML_TEXT ? y->text : NULL;
}
