// SPDX-License-Identifier: GPL-2.0-or-later
#include "line.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pcidevfs/pair.h"
#include "pcidevfs/util.h"

static const char **text_at(const void *line, size_t at)
{
	return (const char **)((char *)line + at);
}

static int number(const char *text)
{
	uint64_t n;

	return parse_u64(text, INT_MAX, &n) ? -1 : (int)n;
}

static void set(const struct line_field *f, void *line, const char *value)
{
	if (f->number)
		*(int *)((char *)line + f->at) = number(value);
	else
		*text_at(line, f->at) = strcmp(value, "none") ? value : "";
}

int line_read(const struct line_type *t, const char *id, char *pairs, void *ret)
{
	struct pair p;
	int r;

	*text_at(ret, t->id) = id;
	for (size_t i = 0; i < t->n; i++)
		set(&t->fields[i], ret, "none");
	while ((r = pair_next(&pairs, &p)) == 1)
		for (size_t i = 0; i < t->n; i++)
			if (!strcmp(t->fields[i].key, p.key))
				set(&t->fields[i], ret, p.value);
	return r;
}

static char *move_text(const char **text, char *to)
{
	char *end = stpcpy(to, *text);

	*text = to;
	return end + 1;
}

void *line_copy(const struct line_type *t, const void *line)
{
	size_t size = t->size + strlen(*text_at(line, t->id)) + 1;
	char *copy, *to;

	for (size_t i = 0; i < t->n; i++)
		size += t->fields[i].number ? 0 : strlen(*text_at(line, t->fields[i].at)) + 1;
	copy = malloc(size);
	if (!copy)
		return NULL;
	memcpy(copy, line, t->size);
	to = move_text(text_at(copy, t->id), copy + t->size);
	for (size_t i = 0; i < t->n; i++)
		if (!t->fields[i].number)
			to = move_text(text_at(copy, t->fields[i].at), to);
	return copy;
}
