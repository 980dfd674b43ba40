// SPDX-License-Identifier: GPL-2.0-or-later
#include "js.h"

#include <string.h>

#include "pcidevfs/util.h"

enum { PATH_PART = 64 };

/* Takes the path's next part; false at its end. */
static bool part_of(const char **path, char part[static PATH_PART])
{
	size_t n = strcspn(*path, ".");

	if (!n || n >= PATH_PART)
		return false;
	memcpy(part, *path, n);
	part[n] = '\0';
	*path += n + ((*path)[n] == '.');
	return true;
}

json_object *js_get(json_object *o, const char *path)
{
	char part[PATH_PART];

	while (o && part_of(&path, part))
		if (!json_object_object_get_ex(o, part, &o))
			return NULL;
	return o;
}

static const char *text_of(json_object *o)
{
	return json_object_is_type(o, json_type_string) ? json_object_get_string(o) : NULL;
}

const char *js_text(json_object *o, const char *path)
{
	const char *text = text_of(js_get(o, path));

	return text ? text : "";
}

static json_object *meta(json_object *o, const char *part)
{
	json_object *m = js_get(o, "metadata");

	return json_object_object_get_ex(m, part, &m) ? m : NULL;
}

const char *js_meta(json_object *o, const char *part, const char *key)
{
	json_object *m;

	return json_object_object_get_ex(meta(o, part), key, &m) ? text_of(m) : NULL;
}

static json_object *child(json_object *o, const char *name)
{
	json_object *c;

	if (json_object_object_get_ex(o, name, &c) && c)
		return c;
	c = json_object_new_object();
	json_object_object_add(o, name, c);
	return c;
}

void js_set(json_object *o, const char *path, json_object *value)
{
	char part[PATH_PART];

	if (!value)
		return;
	while (part_of(&path, part) && *path)
		o = child(o, part);
	json_object_object_add(o, part, value);
}

void js_set_text(json_object *o, const char *path, const char *text)
{
	js_set(o, path, json_object_new_string(text));
}

void js_set_meta(json_object *o, const char *part, const char *key, const char *value)
{
	if (value)
		json_object_object_add(child(child(o, "metadata"), part), key,
				       json_object_new_string(value));
}

void js_unset_meta(json_object *o, const char *part, const char *key)
{
	json_object_object_add(child(child(o, "metadata"), part), key, NULL);
}

size_t js_length(json_object *list)
{
	return json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
}

json_object *js_find(json_object *list, const char *path, const char *text)
{
	for (size_t i = 0; *text && i < js_length(list); i++) {
		json_object *o = json_object_array_get_idx(list, i);

		if (!strcmp(js_text(o, path), text))
			return o;
	}
	return NULL;
}

static bool any_covers(json_object *have, json_object *want)
{
	for (size_t i = 0; i < json_object_array_length(have); i++)
		if (js_covers(json_object_array_get_idx(have, i), want))
			return true;
	return false;
}

/* Lists of objects are maps in Kubernetes: others may have added theirs. */
static bool array_covers(json_object *have, json_object *want)
{
	if (!json_object_is_type(have, json_type_array))
		return false;
	for (size_t i = 0; i < json_object_array_length(want); i++) {
		json_object *w = json_object_array_get_idx(want, i);

		if (json_object_is_type(w, json_type_object)) {
			if (!any_covers(have, w))
				return false;
		} else {
			return json_object_equal(have, want);
		}
	}
	return json_object_array_length(want) || !json_object_array_length(have);
}

bool js_covers(json_object *have, json_object *want)
{
	if (json_object_is_type(want, json_type_array))
		return array_covers(have, want);
	if (!json_object_is_type(want, json_type_object))
		return json_object_equal(have, want);
	json_object_object_foreach(want, key, value)
	{
		json_object *h;

		if (!json_object_object_get_ex(have, key, &h) || !js_covers(h, value))
			return false;
	}
	return true;
}

json_object *js_surplus(json_object *have, json_object *want)
{
	json_object *nulls = NULL;

	if (!json_object_is_type(have, json_type_object) ||
	    !json_object_is_type(want, json_type_object))
		return NULL;
	json_object_object_foreach(have, key, value)
	{
		json_object *w, *inner = NULL;

		if (json_object_object_get_ex(want, key, &w) && !(inner = js_surplus(value, w)))
			continue;
		if (!nulls)
			nulls = json_object_new_object();
		json_object_object_add(nulls, key, inner);
	}
	return nulls;
}

/* ---- YAML: strings in double quotes are those of JSON */

const char *js_line(json_object *o)
{
	return json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN |
							 JSON_C_TO_STRING_NOSLASHESCAPE);
}

static bool is_plain(const char *text)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				"0123456789./-_");

	return n && !text[n] &&
	       strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", *text);
}

static size_t size_of(json_object *o)
{
	if (json_object_is_type(o, json_type_object))
		return (size_t)json_object_object_length(o);
	return js_length(o);
}

static void put_value(json_object *o, int depth, struct out *ret);

static void put_map(json_object *o, int depth, bool inlined, struct out *ret)
{
	json_object_object_foreach(o, key, value)
	{
		_json_ json_object *quoted = json_object_new_string(key);

		out_printf(ret, "%*s%s:", inlined ? 0 : depth * 2, "",
			   is_plain(key) ? key : js_line(quoted));
		put_value(value, depth, ret);
		inlined = false;
	}
}

static void put_value(json_object *o, int depth, struct out *ret)
{
	if (!size_of(o)) {
		out_printf(ret, " %s\n", js_line(o));
		return;
	}
	out_printf(ret, "\n");
	if (json_object_is_type(o, json_type_object)) {
		put_map(o, depth + 1, false, ret);
		return;
	}
	for (size_t i = 0; i < json_object_array_length(o); i++) {
		json_object *item = json_object_array_get_idx(o, i);

		out_printf(ret, size_of(item) ? "%*s- " : "%*s-", depth * 2, "");
		if (size_of(item))
			put_map(item, depth + 1, true, ret);
		else
			put_value(item, depth, ret);
	}
}

void js_yaml(json_object *o, struct out *ret)
{
	put_map(o, 0, false, ret);
}
