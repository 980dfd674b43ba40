// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/vfconf.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

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

static void print_mac(const unsigned char mac[static 6], char ret[static VFCONF_VALUE])
{
	snprintf(ret, VFCONF_VALUE, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
		 mac[4], mac[5]);
}

int vfconf_mac(const char *text, unsigned char ret[static 6])
{
	char again[VFCONF_VALUE];

	if (sscanf(text, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx", &ret[0], &ret[1], &ret[2], &ret[3],
		   &ret[4], &ret[5]) != 6)
		return -EINVAL;
	print_mac(ret, again);
	return strcasecmp(text, again) ? -EINVAL : 0;
}

static int parse_mac(const char *value, char ret[static VFCONF_VALUE])
{
	static const unsigned char zero[6];
	unsigned char mac[6];

	if (vfconf_mac(value, mac) || mac[0] & 1 || !memcmp(mac, zero, sizeof(mac)))
		return -EINVAL;
	print_mac(mac, ret);
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
