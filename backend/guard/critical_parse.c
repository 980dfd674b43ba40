// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/critical.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "pcidevfs/util.h"

#define RTF_UP 0x0001
#define RTF_REJECT 0x0200
#define WORDS 16 /* no format has more words before the ones that we need */

static char *next_line(char **text)
{
	while (*text && **text) {
		char *line = strsep(text, "\n");

		if (*line)
			return line;
	}
	return NULL;
}

/* Splits at blanks. Returns the number of words, at most max. */
static size_t split(char *line, char *words[], size_t max)
{
	size_t n = 0;
	char *word;

	while (n < max && (word = strsep(&line, " \t")))
		if (*word)
			words[n++] = word;
	return n;
}

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* The kernel writes blanks, newlines and backslashes as \ooo. */
static void unescape(char *text)
{
	char *to = text;

	while (*text) {
		if (text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && is_octal(text[2]) &&
		    is_octal(text[3])) {
			char c = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 |
					(text[3] - '0'));

			/* a NUL is never meant and would end the string */
			*to++ = c ?: '?';
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
}

static bool parse_hex(const char *text, uint32_t *ret)
{
	size_t n = strspn(text, "0123456789abcdefABCDEF");

	*ret = (uint32_t)strtoul(text, NULL, 16);
	return n && n <= 8 && !text[n];
}

static bool parse_dev(char *text, unsigned int *ret_major, unsigned int *ret_minor)
{
	char *minor = strchr(text, ':');
	uint64_t major, low;

	if (!minor)
		return false;
	*minor++ = '\0';
	if (parse_u64(text, UINT32_MAX, &major) || parse_u64(minor, UINT32_MAX, &low))
		return false;
	*ret_major = (unsigned int)major;
	*ret_minor = (unsigned int)low;
	return true;
}

/* 36 35 98:0 /root /point options [optional fields] - type source superoptions */
static bool mount_parse(char *line, struct mount_line *ret)
{
	char *dash = strstr(line, " - "), *before[5], *after[2];

	if (!dash)
		return false;
	*dash = '\0';
	if (split(line, before, 5) < 5 || split(dash + 3, after, 2) < 2 ||
	    !parse_dev(before[2], &ret->major, &ret->minor))
		return false;
	ret->point = before[4];
	ret->type = after[0];
	ret->source = after[1];
	unescape(ret->point);
	unescape(ret->source);
	return true;
}

bool mount_next(char **text, struct mount_line *ret)
{
	char *line;

	while ((line = next_line(text)))
		if (mount_parse(line, ret))
			return true;
	return false;
}

bool swap_next(char **text, struct swap_line *ret)
{
	char *line, *words[2];

	/* the header does not begin with a path */
	while ((line = next_line(text))) {
		if (split(line, words, 2) < 2 || words[0][0] != '/')
			continue;
		unescape(words[0]);
		ret->path = words[0];
		return true;
	}
	return false;
}

/* Loopback, link-local and multicast addresses are not ones that others can reach. */
bool address_is_global(uint32_t net)
{
	return net && net >> 24 != 127 && net >> 16 != 0xa9fe && net >> 28 != 0xe;
}

/* Iface Destination Gateway Flags RefCnt Use Metric Mask ...; numbers are raw, in network order */
static bool route_parse(char *line, struct net_line *ret)
{
	uint32_t destination, gateway, flags, mask;
	char *words[WORDS];

	if (split(line, words, 8) < 8 || !parse_hex(words[1], &destination) ||
	    !parse_hex(words[2], &gateway) || !parse_hex(words[3], &flags) ||
	    !parse_hex(words[7], &mask) || !(flags & RTF_UP) || flags & RTF_REJECT)
		return false;
	*ret = (struct net_line){ .name = words[0],
				  .is_default = !destination && !mask,
				  .is_global = !gateway && address_is_global(ntohl(destination)) };
	return ret->is_default || ret->is_global;
}

bool route_next(char **text, struct net_line *ret)
{
	char *line;

	while ((line = next_line(text)))
		if (route_parse(line, ret))
			return true;
	return false;
}

/* destination length source length next-hop metric refs use flags name */
bool route6_next(char **text, struct net_line *ret)
{
	char *line, *words[WORDS];
	uint32_t len, flags;

	while ((line = next_line(text))) {
		if (split(line, words, 10) < 10 || words[0][strspn(words[0], "0")] ||
		    !parse_hex(words[1], &len) || !parse_hex(words[8], &flags) || len ||
		    !(flags & RTF_UP) || flags & RTF_REJECT)
			continue;
		*ret = (struct net_line){ .name = words[9], .is_default = true };
		return true;
	}
	return false;
}

/* address index length scope flags name */
bool address6_next(char **text, struct net_line *ret)
{
	char *line, *words[WORDS];
	uint32_t scope;

	while ((line = next_line(text))) {
		if (split(line, words, 6) < 6 || !parse_hex(words[3], &scope) || scope)
			continue;
		*ret = (struct net_line){ .name = words[5], .is_global = true };
		return true;
	}
	return false;
}

/* id peer interface: 01000000 00:11:22:33:44:55    eno1 */
bool pppoe_next(char **text, char **ret_name)
{
	char *line, *words[WORDS];
	uint32_t id;

	while ((line = next_line(text))) {
		if (split(line, words, 3) < 3 || !parse_hex(words[0], &id) || !strchr(words[1], ':'))
			continue;
		*ret_name = words[2];
		return true;
	}
	return false;
}

/* ttyS0  -W- (EC p a)  4:64 */
bool console_next(char **text, char **ret_name)
{
	char *line, *words[WORDS];

	while ((line = next_line(text))) {
		const char *flags = strchr(line, '('), *end = flags ? strchr(flags, ')') : NULL;

		if (!end || !memchr(flags, 'E', (size_t)(end - flags)) || split(line, words, 1) < 1)
			continue;
		*ret_name = words[0];
		return true;
	}
	return false;
}
