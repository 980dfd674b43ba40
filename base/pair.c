// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/pair.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Decodes the escape whose backslash is at *from. */
static int unescape(char **from)
{
	char hex[3] = { 0 };
	char *c = *from + 1;

	if (*c == '"' || *c == '\\') {
		*from = c + 1;
		return (unsigned char)*c;
	}
	if (*c != 'x' || !isxdigit((unsigned char)c[1]) || !isxdigit((unsigned char)c[2]))
		return -EINVAL;
	memcpy(hex, c + 1, 2);
	*from = c + 3;
	return (int)strtol(hex, NULL, 16);
}

/* *from is behind the opening quote; on return it is behind the closing one. */
static int unquote(char **from)
{
	char *to = *from, *c = *from;

	while (*c != '"') {
		int v = *c == '\\' ? unescape(&c) : (unsigned char)*c++;

		/* An invalid escape, the line's end, or a NUL that would hide the rest. */
		if (v <= 0)
			return -EINVAL;
		*to++ = (char)v;
	}
	*to = '\0';
	*from = c + 1;
	return **from == ' ' || !**from ? 0 : -EINVAL;
}

static void cut(char **cursor)
{
	if (**cursor)
		*(*cursor)++ = '\0';
}

int pair_next(char **cursor, struct pair *ret)
{
	char *c = *cursor + strspn(*cursor, " "), *word = c;

	if (!*c)
		return 0;
	c += strcspn(c, " =\"");
	if (*c == '"' || c == word)
		return -EINVAL;
	if (*c != '=') {
		cut(&c);
		*ret = (struct pair){ "", word };
		*cursor = c;
		return 1;
	}
	*c++ = '\0';
	*ret = (struct pair){ word, c };
	if (*c == '"') {
		ret->value = ++c;
		ret->quoted = true;
		if (unquote(&c))
			return -EINVAL;
	} else {
		c += strcspn(c, " ");
	}
	cut(&c);
	*cursor = c;
	return 1;
}

char *line_next(char **cursor)
{
	char *line;

	while ((line = strsep(cursor, "\n")) && !*line)
		;
	return line;
}
