// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/vfconf.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "pcidevfs/util.h"

static const char *const names[VFCONF_COUNT] = {
	[VFCONF_MAC] = "mac",
	[VFCONF_VLAN] = "vlan",
	[VFCONF_TRUST] = "trust",
	[VFCONF_SPOOFCHK] = "spoofchk",
};

const char *vfconf_name(enum vfconf which)
{
	return names[which];
}

enum vfconf vfconf_find(const char *name)
{
	enum vfconf which = 0;

	while (which < VFCONF_COUNT && strcmp(names[which], name) != 0)
		which++;
	return which;
}

void vfconf_get(const char *text, enum vfconf which, char ret[static VFCONF_VALUE])
{
	size_t len = strlen(names[which]);

	ret[0] = '\0';
	while (*text && (strncmp(text, names[which], len) != 0 || text[len] != '=')) {
		text += strcspn(text, " ");
		text += *text == ' ';
	}
	if (*text)
		snprintf(ret, VFCONF_VALUE, "%.*s", (int)strcspn(text + len + 1, " "),
			 text + len + 1);
}

void vfconf_add(char text[static VFCONF_TEXT], enum vfconf which, const char *value)
{
	size_t n = strlen(text);

	snprintf(text + n, VFCONF_TEXT - n, "%s%s=%s", n ? " " : "", names[which], value);
}

/* The value of a hexadecimal digit, or -1. */
static int digit(char c)
{
	const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, tolower((unsigned char)c)) : NULL;

	return at ? (int)(at - digits) : -1;
}

int vfconf_mac(const char *text, unsigned char ret[static 6])
{
	for (int i = 0; i < 6; i++, text += 3) {
		int high = digit(text[0]), low = high < 0 ? -1 : digit(text[1]);

		if (low < 0 || text[2] != (i < 5 ? ':' : '\0'))
			return -EINVAL;
		ret[i] = (unsigned char)(high << 4 | low);
	}
	return 0;
}

static int parse_mac(const char *value, char ret[static VFCONF_VALUE])
{
	static const unsigned char zero[6];
	unsigned char mac[6];

	if (vfconf_mac(value, mac) || mac[0] & 1 || !memcmp(mac, zero, sizeof(mac)))
		return -EINVAL;
	snprintf(ret, VFCONF_VALUE, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
		 mac[4], mac[5]);
	return 0;
}

static int parse_vlan(const char *value, char ret[static VFCONF_VALUE])
{
	uint64_t n;
	int rc = parse_u64(value, VLAN_MAX, &n);

	if (!rc)
		snprintf(ret, VFCONF_VALUE, "%u", (unsigned int)n);
	return rc;
}

static int parse_flag(const char *value, char ret[static VFCONF_VALUE])
{
	bool on;
	int rc = parse_bool(value, &on);

	if (!rc)
		snprintf(ret, VFCONF_VALUE, "%d", on);
	return rc;
}

int vfconf_parse(enum vfconf which, const char *value, char ret[static VFCONF_VALUE])
{
	switch (which) {
	case VFCONF_MAC:
		return parse_mac(value, ret);
	case VFCONF_VLAN:
		return parse_vlan(value, ret);
	default:
		return parse_flag(value, ret);
	}
}
