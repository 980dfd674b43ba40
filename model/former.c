// SPDX-License-Identifier: GPL-2.0-or-later
/* "driver=igb\noverride=": in a value a newline is written "\n" and a backslash is doubled. */
#include "pcidevfs/former.h"

#include <string.h>

#include "pcidevfs/util.h"

bool former_next(const char **text, char name[static FORMER_NAME], char value[static FORMER_TEXT])
{
	size_t len = strcspn(*text, "="), n = 0;
	const char *p = *text + len + 1;

	if (!(*text)[len] || len >= FORMER_NAME)
		return false;
	memcpy(name, *text, len);
	name[len] = '\0';
	for (; *p && *p != '\n' && n < FORMER_TEXT - 1; p++) {
		bool escaped = *p == '\\' && p[1];

		p += escaped;
		value[n++] = escaped && *p == 'n' ? '\n' : *p;
	}
	value[n] = '\0';
	*text = p + (*p == '\n');
	return true;
}

bool former_get(const char *text, const char *name, char *ret, size_t size)
{
	char found[FORMER_NAME], value[FORMER_TEXT];

	ret[0] = '\0';
	while (former_next(&text, found, value))
		if (!strcmp(found, name)) {
			str_copy(ret, size, value);
			return true;
		}
	return false;
}

/* Appends a pair. False: there is no room. */
static bool add(char text[static FORMER_TEXT], const char *name, const char *value)
{
	size_t n = strlen(text), len = strlen(name);

	if (n + 1 + len + 1 >= FORMER_TEXT)
		return false;
	if (n)
		text[n++] = '\n';
	memcpy(text + n, name, len);
	n += len;
	text[n++] = '=';
	for (; *value; value++) {
		bool escape = *value == '\\' || *value == '\n';

		if (n + escape + 1 >= FORMER_TEXT)
			return false;
		if (escape)
			text[n++] = '\\';
		text[n++] = *value == '\n' ? 'n' : *value;
	}
	text[n] = '\0';
	return true;
}

static bool is_name(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");

	return len && !name[len] && len < FORMER_NAME;
}

bool former_set(char text[static FORMER_TEXT], const char *name, const char *value)
{
	char found[FORMER_NAME], was[FORMER_TEXT], made[FORMER_TEXT] = "";
	bool there = false, fits = is_name(name);

	for (const char *p = text; fits && former_next(&p, found, was);) {
		bool here = !strcmp(found, name);

		fits = add(made, found, here ? value : was);
		there |= here;
	}
	if (!fits || !(there || add(made, name, value)))
		return false;
	memcpy(text, made, FORMER_TEXT);
	return true;
}

void former_driver(const char *text, char *ret, size_t size)
{
	if (!former_get(text, FORMER_DRIVER, ret, size) || !ret[0])
		former_get(text, FORMER_TOLD, ret, size);
}

bool former_is_none(const char *text)
{
	char name[FORMER_NAME], value[FORMER_TEXT];

	while (former_next(&text, name, value))
		if (value[0])
			return false;
	return true;
}

void former_fill(char text[static FORMER_TEXT], const char *other)
{
	char name[FORMER_NAME], value[FORMER_TEXT], now[FORMER_TEXT];

	while (former_next(&other, name, value))
		if (!former_get(text, name, now, sizeof(now)) || !now[0])
			former_set(text, name, value);
}
