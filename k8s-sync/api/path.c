// SPDX-License-Identifier: GPL-2.0-or-later
#include "path.h"

#include <string.h>

#include "pcidevfs/util.h"

#define DIGITS "0123456789"
#define PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" DIGITS "-_~"

void path_put(struct out *path, const char *text)
{
	bool dots = !text[strspn(text, ".")]; /* a segment of nothing else leads upwards */

	for (; *text; text++)
		if (strchr(PLAIN, *text) || (*text == '.' && !dots))
			out_put(path, text, 1);
		else
			out_printf(path, "%%%02X", (unsigned char)*text);
}

bool path_is_version(const char *text)
{
	size_t n = strspn(text, DIGITS);

	return n && n <= 20 && !text[n];
}
