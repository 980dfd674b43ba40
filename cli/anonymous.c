// SPDX-License-Identifier: GPL-2.0-or-later
#include "anonymous.h"

#include <ctype.h>
#include <json-c/json.h>
#include <string.h>

#include "pcidevfs/util.h"
#include "out.h"

/* Of a process, and of the people behind it. */
static const char *const who[] = { "pid=", "uid=", "comm=", "opener=", "loginuid=", "owner=" };

void names_add(struct known_names *names, const char *name)
{
	for (size_t i = 0; i < names->n; i++)
		if (!strcmp(names->v[i], name))
			return;
	if (strlen(name) > 1 && names->n < NAMES_MOST && (names->v[names->n] = strdup(name)))
		names->n++;
}

void names_of(struct known_names *names, const char *text)
{
	struct json_object *lines = lines_json(text), *o;

	for (size_t i = 0; (o = json_object_array_get_idx(lines, i)); i++) {
		const char *pod = json_says(o, "allocated_to");

		names_add(names, json_says(o, "claim"));
		names_add(names, strcmp(pod, "pending") != 0 ? pod : "");
		if (!strcmp(json_says(o, "file"), "claim"))
			names_add(names, json_says(o, "value"));
	}
	json_object_put(lines);
}

void names_free(struct known_names *names)
{
	while (names->n)
		free(names->v[--names->n]);
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Does the word at this place of the text begin with it? */
static bool stands(const char *text, const char *at, const char *word)
{
	return (at == text || !is_word(at[-1])) && !strncmp(at, word, strlen(word));
}

/* The name that stands here as a whole word, the longest of several; NULL: none. */
static const char *name_at(const struct known_names *names, const char *text, const char *at,
			   size_t *ret_i)
{
	const char *best = NULL;

	for (size_t i = 0; i < names->n; i++) {
		const char *name = names->v[i];

		if (stands(text, at, name) && !is_word(at[strlen(name)]) &&
		    (!best || strlen(name) > strlen(best))) {
			best = name;
			*ret_i = i;
		}
	}
	return best;
}

/* How much of the text from here tells who somebody is: "uid=1000", "/home/alice". */
static size_t who_at(const char *text, const char *at, size_t *ret_head)
{
	for (size_t i = 0; i < ARRAY_SIZE(who); i++)
		if (stands(text, at, who[i])) {
			*ret_head = strlen(who[i]);
			return *ret_head + (at[*ret_head] == '"'
						    ? 2 + strcspn(at + *ret_head + 1, "\"\n")
						    : strcspn(at + *ret_head, " \n"));
		}
	*ret_head = strlen("/home/");
	return strncmp(at, "/home/", *ret_head) ? 0
						: *ret_head + strcspn(at + *ret_head, "/ \";\n");
}

char *anonymous(const struct known_names *names, const char *text)
{
	struct out hidden = { 0 }, out = { 0 };
	size_t i = 0, head, len;

	out_for_all(&hidden, text); /* "held by NAME (pid N)" */
	text = out_text(&hidden);
	for (const char *at = text, *name; *at; at += len) {
		len = who_at(text, at, &head);
		name = len ? NULL : name_at(names, text, at, &i);
		if (len)
			out_printf(&out, "%.*s?", (int)head, at);
		else if (name)
			out_printf(&out, "name-%zu", i + 1);
		else
			out_put(&out, at, 1);
		len = len ?: name ? strlen(name) : 1;
	}
	out_free(&hidden);
	if (out.failed)
		out_free(&out);
	return out.data ?: strdup("");
}
